"""A decoder layer of Llama by Hugging Face's transformers 4.37.2 and PyTorch 1.13.1, in float64: RMSNorm,
rotary positions, grouped queries, SwiGLU. Writes llama_layer.safetensors: weights, input, output under
a look-ahead mask, and the gradients of the sum of output and weights_of_loss."""
import torch, json, struct
torch.manual_seed(7); torch.set_default_dtype(torch.float64)
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer
cfg=LlamaConfig(hidden_size=16,intermediate_size=24,num_attention_heads=4,num_key_value_heads=2,hidden_act='silu',rms_norm_eps=1e-5,rope_theta=10000.0,max_position_embeddings=64,attn_implementation='eager')
cfg._attn_implementation='eager'
layer=LlamaDecoderLayer(cfg,0) if 'layer_idx' in LlamaDecoderLayer.__init__.__code__.co_varnames else LlamaDecoderLayer(cfg)
layer=layer.double()
with torch.no_grad():
    for n,p in layer.named_parameters():
        p.copy_(torch.randn_like(p)*0.3 + (1.0 if 'layernorm' in n else 0.0))
x=torch.randn(2,6,16,requires_grad=True)
mask=torch.full((6,6),torch.finfo(torch.float64).min).triu(1)[None,None].expand(2,1,6,6)
pos=torch.arange(6)[None].expand(2,6)
y=layer(x,attention_mask=mask,position_ids=pos)[0]
w=torch.randn_like(y)
(y*w).sum().backward()
names={'self_attn.q_proj':'self_attention.query','self_attn.k_proj':'self_attention.key','self_attn.v_proj':'self_attention.value','self_attn.o_proj':'self_attention.output','mlp.gate_proj':'feed_forward.gate','mlp.up_proj':'feed_forward.inner','mlp.down_proj':'feed_forward.outer','input_layernorm':'self_attention_norm','post_attention_layernorm':'feed_forward_norm'}
out={'x':x,'y':y,'weights_of_loss':w,'gradient.x':x.grad}
for n,p in layer.named_parameters():
    a,b=n.rsplit('.',1)
    out['layer.'+names[a]+'.'+b]=p; out['gradient.'+names[a]+'.'+b]=p.grad
header={};data=b''
for k in sorted(out):
    v=out[k].detach().float().contiguous()
    b=struct.pack('<%df'%v.numel(),*v.flatten().tolist())
    header[k]={'dtype':'F32','shape':list(v.shape),'data_offsets':[len(data),len(data)+len(b)]};data+=b
h=json.dumps(header).encode(); h+=b' '*(-len(h)%8)
open('llama_layer.safetensors','wb').write(struct.pack('<Q',len(h))+h+data)
