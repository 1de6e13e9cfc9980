// SPDX-License-Identifier: MIT
// What the allocator of a GPU calls for each block, without the GPU.
#include <stdint.h>

struct device { // c10::Device
	int8_t type, index;
};

typedef void report(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                    struct device device);

// One of them is c10's: which one is a matter of its version.
// NOLINTBEGIN(bugprone-reserved-identifier)
__attribute__((weak, visibility("default")))
report _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE;
__attribute__((weak, visibility("default")))
report _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE;
// NOLINTEND(bugprone-reserved-identifier)

__attribute__((visibility("default"))) void device_allocator_tell(int old, int64_t bytes,
                                                                  uint64_t allocated,
                                                                  uint64_t reserved, int type,
                                                                  int index);
void device_allocator_tell(int old, int64_t bytes, uint64_t allocated, uint64_t reserved, int type,
                           int index)
{
	static char block;
	struct device device = { (int8_t)type, (int8_t)index };

	if (old)
		_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(&block, bytes, allocated,
		                                                      reserved, device);
	else
		_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(&block, bytes, allocated,
		                                                      reserved, device);
}
