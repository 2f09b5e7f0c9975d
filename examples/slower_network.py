# SPDX-License-Identifier: Apache-2.0
"""What if the network between hosts were slower? Run it: python examples/slower_network.py"""

import orrery

print("64 MiB all-reduce over 32 GPUs in 4 hosts")
for gigabits in (400, 200, 100, 25):
    cluster = (
        "rail_optimized:hosts=4,gpus_per_host=8,nvlink_bandwidth=450GBps,nvlink_latency=155ns,"
        f"nic_bandwidth={gigabits}Gbps,nic_latency=500ns"
    )
    rows = orrery.collective("all_reduce", cluster, size="64MiB", algorithm=["ring", "hierarchical"])["results"]
    times = ", ".join(f"{row['algorithm']} {row['time_ps'] / 1e9:.3f} ms" for row in rows)
    print(f"  {gigabits:>3} Gb/s: {times}")
