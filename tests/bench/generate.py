# SPDX-License-Identifier: MIT
"""Writes a large C++ program: many units, deep templates, recursion, thousands of hot addresses.

    generate.py DIRECTORY UNITS

The program: `shop REPEATS [THREADS]` does the work of every unit REPEATS times in each thread and
prints CLOCK_MONOTONIC, in ns, as the last thing before it exits.
"""
import os
import sys

UNIT = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace unit@ {
struct number { long value; };
struct word { std::string text; };
struct list;
using node = std::variant<number, word, std::shared_ptr<list>>;
struct list { std::vector<node> children; int kind; };

static unsigned long seed = @ + 1;
static unsigned next() { seed = seed * 6364136223846793005ul + 1442695040888963407ul; return seed >> 40; }

static node grow(int depth)
{
	if (depth == 0)
		return next() % 2 ? node(number{ long(next()) }) : node(word{ "w" + std::to_string(next() % 97) });
	auto made = std::make_shared<list>();
	made->kind = next() % 4;
	for (int i = 0; i < 3; i++)
		made->children.push_back(grow(depth - 1));
	return made;
}

template <int N, typename F> struct chain {
	F f;
	long operator()(long x) const { return chain<N - 1, F>{ f }(f(x) + N); }
};
template <typename F> struct chain<0, F> {
	F f;
	long operator()(long x) const { return f(x); }
};

class evaluator {
public:
	long run(const node &n) { return std::visit(*this, n); }
	long operator()(const number &n) { return chain<8, decltype(step)>{ step }(n.value); }
	long operator()(const word &w)
	{
		auto &slot = seen_[w.text];
		slot.push_back(w.text.size() + slot.size());
		if (slot.size() > 40)
			slot.clear();
		return std::accumulate(slot.begin(), slot.end(), 0l);
	}
	long operator()(const std::shared_ptr<list> &l)
	{
		switch (l->kind) {
		case 0: return sum(*l);
		case 1: return sorted(*l);
		case 2: return text(*l);
		default: return unique(*l);
		}
	}

private:
	static constexpr auto step = [](long x) { return (x * 31 + @) % 1000003; };
	long sum(const list &l)
	{
		return std::accumulate(l.children.begin(), l.children.end(), 0l,
				       [this](long s, const node &n) { return s + run(n); });
	}
	long sorted(const list &l)
	{
		std::vector<long> values;
		std::transform(l.children.begin(), l.children.end(), std::back_inserter(values),
			       [this](const node &n) { return run(n); });
		for (int i = 0; i < 20; i++)
			values.push_back(values[i] * 7 % 1013);
		std::sort(values.begin(), values.end(), [](long a, long b) { return a % 101 < b % 101; });
		return values.front();
	}
	long text(const list &l)
	{
		std::ostringstream out;
		for (const auto &child : l.children)
			out << run(child) << ' ';
		std::string s = out.str();
		return std::hash<std::string>{}(s) % 1000;
	}
	long unique(const list &l)
	{
		std::set<long> values;
		std::function<void(const node &)> add = [&](const node &n) { values.insert(run(n) % 17); };
		std::for_each(l.children.begin(), l.children.end(), add);
		return values.size();
	}
	std::map<std::string, std::vector<long>> seen_;
};

long matches(const std::string &text)
{
	static const std::regex pattern("(w[0-9]+)|([a-c]+@)");
	return std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator());
}
} // namespace unit@

long work@()
{
	unit@::evaluator e;
	static const unit@::node tree = unit@::grow(7);
	return e.run(tree) + unit@::matches("w12 abc w7 zz w99");
}
"""

MAIN = r"""
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

@DECLARE@
static long (*const units[])() = { @UNITS@ };

static void run(int repeats, long *result)
{
	for (int i = 0; i < repeats; i++) {
		for (auto unit : units)
			*result += unit();
	}
}

int main(int argc, char **argv)
{
	int repeats = argc > 1 ? atoi(argv[1]) : 1, count = argc > 2 ? atoi(argv[2]) : 1;
	std::vector<long> results(count);
	std::vector<std::thread> threads;
	long warm = 0;
	run(1, &warm); // the static trees, before there are threads
	for (int i = 1; i < count; i++)
		threads.emplace_back(run, repeats, &results[i]);
	run(repeats, &results[0]);
	for (auto &thread : threads)
		thread.join();
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	std::printf("%ld %lld\n", results[0], now.tv_sec * 1000000000ll + now.tv_nsec);
}
"""


def write_if_changed(path, text):
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    directory, units = sys.argv[1], int(sys.argv[2])
    os.makedirs(directory, exist_ok=True)
    for i in range(units):
        write_if_changed(os.path.join(directory, f"unit{i}.cc"),
                         UNIT.replace("@", str(i)))
    declare = "\n".join(f"long work{i}();" for i in range(units))
    names = ", ".join(f"work{i}" for i in range(units))
    write_if_changed(os.path.join(directory, "main.cc"),
                     MAIN.replace("@DECLARE@", declare).replace("@UNITS@", names))
    objects = " ".join(["main.o"] + [f"unit{i}.o" for i in range(units)])
    write_if_changed(os.path.join(directory, "Makefile"),
                     f"shop: {objects}\n\tg++ -pthread -o $@ {objects}\n"
                     "%.o: %.cc\n\tg++ -std=c++17 -O2 -g -pthread -c -o $@ $<\n")


if __name__ == "__main__":
    main()
