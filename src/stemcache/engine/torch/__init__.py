"""The model: a Llama-family decoder on torch, for ragged batches over paged KV.

```
config   what shapes a checkpoint has, or why it is refused
files    where its weights lie, and their digest          gguf, convert   the other format
weights  tensors as the decoder wants them                rope            positions
linear   matrix products                                  kv              the page pool
plan     a batch as pieces of attention, without torch    attention       computes the pieces
decoder  one batch through all layers                     model           the engine's `Model`
```

The only package that imports torch, transformers, safetensors and gguf; this file imports none.
"""
