"""An agent of a bicycle hire, first as people write it and then made cacheable, step by step."""
