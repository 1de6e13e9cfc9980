// SPDX-License-Identifier: MIT
// oneDNN tells ITT of each primitive that it executes.
#include <oneapi/dnnl/dnnl.hpp>

int main()
{
	dnnl::engine engine(dnnl::engine::kind::cpu, 0);
	dnnl::stream stream(engine);
	dnnl::memory::desc shape({ 16, 16 }, dnnl::memory::data_type::f32,
	                         dnnl::memory::format_tag::ab);
	dnnl::memory a(shape, engine), b(shape, engine), c(shape, engine);
#if DNNL_VERSION_MAJOR >= 3
	dnnl::matmul::primitive_desc description(engine, shape, shape, shape);
#else
	dnnl::matmul::primitive_desc description({ shape, shape, shape }, engine);
#endif
	dnnl::matmul multiply(description);

	for (int i = 0; i < 2; i++)
		multiply.execute(
			stream,
			{ { DNNL_ARG_SRC, a }, { DNNL_ARG_WEIGHTS, b }, { DNNL_ARG_DST, c } });
	stream.wait();
	return 0;
}
