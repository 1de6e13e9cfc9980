// SPDX-License-Identifier: MIT
// What tracer/agent/torch/torch_layout.c holds of PyTorch, against its own headers: compiled with
// -fno-access-control, by torch_ops.py. Prints a line for each that differs.
#include <ATen/record_function.h>
#include <c10/core/TensorImpl.h>
#include <cstddef>
#include <cstdio>

using function = at::RecordFunction;
using tensor = c10::TensorImpl;

static void expect(const char *what, size_t known, size_t true_one)
{
	if (known != true_one)
		std::printf("%s: %zu, not %zu\n", what, true_one, known);
}

int main()
{
	const size_t inputs = offsetof(function, inputs_);
	const size_t sizes = offsetof(tensor, sizes_and_strides_);

	if (inputs != 208 && inputs != 184)
		std::printf("inputs: %zu, neither 208 nor 184\n", inputs);
	if (sizes != 56 && sizes != 64 && sizes != 72)
		std::printf("sizes: %zu, neither 56, 64 nor 72\n", sizes);
	expect("sequence number", inputs - 8, offsetof(function, sequence_nr_));
	expect("thread", 88,
	       offsetof(function, step_callbacks_) + offsetof(at::StepCallbacks, thread_id_));
	const size_t forward = offsetof(function, fwd_thread_id_) - inputs;
	if (forward != 40 && forward != 96)
		std::printf("thread of the forward pass: %zu, neither 40 nor 96\n", forward);
	expect("offset in the storage", sizes + 88, offsetof(tensor, storage_offset_));
	expect("number of elements", sizes + 96, offsetof(tensor, numel_));
	expect("type", sizes + 104, offsetof(tensor, data_type_));
	expect("device", sizes + 106, offsetof(tensor, device_opt_));
	expect("input", 16, sizeof(c10::IValue));
	expect("callback", 40, sizeof(at::RecordFunctionCallback));
}
