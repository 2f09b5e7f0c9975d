# SPDX-License-Identifier: Apache-2.0
"""What the examples share: how a script starts and reports, and a small Llama with its checkpoint."""
