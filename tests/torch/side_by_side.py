# SPDX-License-Identifier: MIT
"""side_by_side.py CASE FILE: a case's ops, all within torch.profiler, whose table goes to FILE.

Nothing but the case runs an op in the process, so that what any other profiler has seen of it is to
be the same.
"""
import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function


class Tutorial(torch.nn.Module):
    """The module of PyTorch's profiler tutorial."""

    def __init__(self, inputs, outputs, numpy):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)
        self.numpy = numpy

    def forward(self, data, mask):
        with record_function("LINEAR PASS"):
            out = self.linear(data)
        with record_function("MASK INDICES"):
            threshold = out.sum(dim=1).mean().item()
            if self.numpy:
                import numpy
                indices = torch.from_numpy(numpy.argwhere(mask.cpu().numpy() > threshold))
            else:
                indices = torch.nonzero(mask > threshold)
        return out, indices


def tutorial(numpy=False):
    model = Tutorial(500, 10, numpy)
    for _ in range(3):
        out, _ = model(torch.rand(128, 500), torch.rand(100, 100, 100))
    return out


def train():
    layers = [torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        loss = model(torch.randn(256, 64)).pow(2).mean()
        loss.backward()
        optimizer.step()


def images():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, stride=2, padding=1), torch.nn.BatchNorm2d(16),
        torch.nn.Conv2d(16, 16, 3, groups=4, dilation=2), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 10))
    for kind in (torch.float32, torch.float64):
        model = model.to(kind)
        with torch.no_grad():
            model(torch.rand(8, 3, 64, 64, dtype=kind))


def products():
    a, b, c = torch.rand(4, 32, 64), torch.rand(4, 64, 16), torch.rand(4, 32, 16)
    torch.bmm(a, b)
    torch.baddbmm(c, a, b)
    torch.einsum("bij,bjk->bik", a, b)
    torch.matmul(a[0], b[0])
    torch.addmm(c[0], a[0], b[0])
    a.mul(2) + a
    a * a[0]
    torch.cat([a, a])
    q = torch.rand(2, 4, 16, 8)
    if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        torch.nn.functional.scaled_dot_product_attention(q, q, q)


def script():
    @torch.jit.script
    def scripted(x, y):
        for _ in range(3):
            x = torch.tanh(x) * y
        return x
    for _ in range(4):
        scripted(torch.rand(32, 32), torch.rand(32))


def resnet(kind):
    import torchvision
    model = torchvision.models.resnet18(weights=None).to(kind).eval()
    with torch.no_grad(), record_function("model_inference"):
        model(torch.randn(5, 3, 224, 224, dtype=kind))


CASES = {"tutorial": tutorial, "tutorial_numpy": lambda: tutorial(True), "train": train,
         "images": images, "products": products, "script": script,
         "resnet18_float": lambda: resnet(torch.float32),
         "resnet18_double": lambda: resnet(torch.float64)}


def rows(averages):
    return [{"name": row.key, "calls": row.count, "shapes": row.input_shapes or None,
             "total_us": row.cpu_time_total, "self_us": row.self_cpu_time_total,
             "memory": row.cpu_memory_usage, "self_memory": row.self_cpu_memory_usage,
             "flops": row.flops} for row in averages]


class Node:
    """An op of torch.profiler's tree, which 1.13 has by nanoseconds and in order."""

    def __init__(self, event, known):
        fields = [e.extra_fields for e in event.children if e.name == "[memory]"]
        self.name = event.name
        self.ns = event.duration_time_ns
        self.known = known[event.correlation_id]
        self.own_bytes = sum(field.alloc_size for field in fields)
        self.children = [Node(e, known) for e in event.children if e.name != "[memory]"]
        # What torch.autograd.profiler_util does to its own tree.
        while len(self.children) == 1 and self.children[0].name == self.name:
            self.own_bytes += self.children[0].own_bytes
            self.children = self.children[0].children

    def bytes(self):
        return self.own_bytes + sum(child.bytes() for child in self.children)

    def rows(self):
        self_ns = self.ns - sum(child.ns for child in self.children)
        yield {"name": self.name, "calls": 1, "shapes": self.known.shapes() or None,
               "total_us": self.ns / 1000, "self_us": self_ns / 1000, "memory": self.bytes(),
               "self_memory": self.own_bytes, "flops": self.known.flops()}
        for child in self.children:
            yield from child.rows()


def rows_of_tree(profiler):
    """1.13's table is made by microseconds: what begins in the same one may be another's child."""
    results = profiler.profiler.kineto_results
    known = {event.correlation_id(): event for event in results.events()}
    roots = [event for event in results.experimental_event_tree() if event.name != "[memory]"]
    return [row for root in roots for row in Node(root, known).rows()]


def main():
    case, path = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
                 with_flops=True) as profiler:
        CASES[case]()
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"shapes": rows_of_tree(profiler) if torch.__version__ < "2" else
                   rows(profiler.key_averages(group_by_input_shape=True))}, file)


main()
