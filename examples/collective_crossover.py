# SPDX-License-Identifier: Apache-2.0
"""Which algorithm is the fastest, and from which size on? Run it: python examples/collective_crossover.py [CLUSTER]"""

import sys

import orrery

cluster = sys.argv[1] if len(sys.argv) > 1 else "hgx-h100"
algorithms = ["ring", "direct", "one_shot", "recursive_doubling", "halving_doubling", "double_binary_tree"]
data = orrery.collective("all_reduce", cluster, size="1KiB..256MiB:x4", algorithm=algorithms, workers=0)

print(f"all_reduce over {data['results'][0]['ranks']} ranks of {data['cluster']}")
last = None
for row in data["results"]:
    if row["best"] and row["algorithm"] != last:
        last = row["algorithm"]
        microseconds = row["time_ps"] / 1e6
        print(f"  from {row['size_bytes']:>10} bytes: {last:<20} ({microseconds:.2f} us, {row['busbw_GBps']:.1f} GB/s)")
print(f"digest {data['manifest']['digest']}: the same on every machine")
