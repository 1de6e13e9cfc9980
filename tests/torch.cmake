# SPDX-License-Identifier: MIT
# Ops of PyTorch.
unit(tensors LIBS base)
unit(torch_layout LIBS agent_core)
unit(torch_links LIBS agent_core)
fuzz(tensors LIBS base)
