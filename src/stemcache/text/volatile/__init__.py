"""Volatile text by its form: clocks, ids and pictures of the environment. No word of what it costs.

```
clock_text  id_text  environment_text     forms, a file a family
        └──────┴─── mask ───┘             the pieces of a text, in order
```
"""
