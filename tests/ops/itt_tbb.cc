// SPDX-License-Identifier: MIT
// oneTBB tells ITT of its algorithms, and of the nodes of its flow graphs.
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

int main()
{
	tbb::global_control alone(tbb::global_control::max_allowed_parallelism, 1);
	long sum = 0;
	tbb::flow::graph graph;
	tbb::flow::function_node<int, int> twice(graph, tbb::flow::serial,
	                                         [](int value) { return 2 * value; });
	tbb::flow::function_node<int, int> add(graph, tbb::flow::serial, [&](int value) {
		sum += value;
		return value;
	});

	tbb::parallel_for(0, 100, [&](int i) { sum += i; });
	tbb::flow::make_edge(twice, add);
	twice.try_put(1);
	graph.wait_for_all();
	return sum == 4952 ? 0 : 1;
}
