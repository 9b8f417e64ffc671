import json
from tokenizers import Tokenizer
def load(split):
    vocab={"<unk>":0,"▁I▁love":1,"▁Tom":2,".":3,"▁I":4,"▁love":5}
    meta={"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":split}
    spec={"version":"1.0","truncation":None,"padding":None,"added_tokens":[],"normalizer":None,"pre_tokenizer":meta,"post_processor":None,"decoder":meta,
     "model":{"type":"Unigram","unk_id":0,"vocab":[[k,-float(i+1)] for k,i in vocab.items()],"byte_fallback":False}}
    return Tokenizer.from_str(json.dumps(spec))
t=load(False)
e=t.encode("I love Tom.")
print(e.tokens, repr(t.decode(e.ids)))
