#!/usr/bin/env python3
"""Writes a language model of a few MB for llama.cpp: a real vocabulary, the architecture of Llama, and random weights.

    PYTHONPATH=SRC/gguf-py python3 random-model.py SRC/models/ggml-vocab-qwen2.gguf OUT.gguf [--keep 16000] [--call TEXT] [--embedding]

Its last matrix follows pairs of tokens of a few sentences, so that it babbles in words and ends its answers. --call is how a
call of a tool begins, one token of its own: it comes now and then, and always where a grammar forbids the end. --keep N leaves only the
first N tokens, their merges and all special ones.
"""
import argparse
import re

import gguf
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument('vocabulary')
parser.add_argument('out')
parser.add_argument('--keep', type=int)
parser.add_argument('--call', default='')
parser.add_argument('--embedding', action='store_true')
args = parser.parse_args()

WIDTH, LAYERS, HEAD, HEADS = 256, 2, 64, 2
NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5
# After a sentence: its end, or else a call or the end of a string, which count where a grammar forbids the end.
ENDS, GOES_ON = 1.0, 0.05
# They stand before every answer, too.
LINE_FEEDS = {'Ċ', '\n', 'ĊĊ', '<0x0A>'}
END = '<|im_end|>'
SAID = [
    'I have read the notes and there is nothing new today.',
    'Hello there, how can I help you with your plans?',
    'The weather in Vienna looks fine: a little wind.',
    'Here is what I found: milk, bread and two apples.',
    'Grüße aus Köln, 你好 and good night.',
]
JSON = ['{"path": "notes.txt"}', '{"query": "milk"}', '{"command": "date"}', '{"text": "hello"}', '{}', '[]', 'true']

random = np.random.default_rng(1)
reader = gguf.GGUFReader(args.vocabulary)


def field(name):
    return reader.fields[name].contents() if name in reader.fields else None


tokens, types = field('tokenizer.ggml.tokens'), field('tokenizer.ggml.token_type')
merges, scores = field('tokenizer.ggml.merges'), field('tokenizer.ggml.scores')
if args.keep:
    kept = [at for at in range(len(tokens)) if at < args.keep or types[at] != NORMAL]
    kept = [at for at in kept if not tokens[at].startswith('[PAD')]
    tokens, types = [tokens[at] for at in kept], [types[at] for at in kept]
    known = set(tokens)
    merges = [merge for merge in merges if ''.join(merge.split(' ')) in known]
if END not in tokens:
    tokens.append(END)
    types.append(CONTROL)
if args.call:
    tokens.append(args.call)
    types.append(USER_DEFINED)
while len(tokens) % 32:
    tokens.append(f'[PAD{len(tokens)}]')
    types.append(UNUSED)
index = {token: at for at, token in enumerate(tokens)}
spoken = {token for token, kind in zip(tokens, types) if kind != CONTROL}

# The pieces of byte-level BPE, or those of SentencePiece: the longest that fits is close enough for babble.
letters, spare = {}, 0
for byte in range(256):
    if 33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte <= 255:
        letters[byte] = chr(byte)
    else:
        letters[byte] = chr(256 + spare)
        spare += 1


def pieces(text):
    is_bpe = field('tokenizer.ggml.model') == 'gpt2' and 'Ġthe' in index
    text = ''.join(letters[byte] for byte in text.encode()) if is_bpe else text.replace(' ', '▁')
    found = []
    for word in re.findall('[Ġ▁]?[^Ġ▁]+', text):
        while word:
            piece = next((word[:n] for n in range(len(word), 0, -1) if word[:n] in spoken), None)
            if piece is not None:
                found.append(index[piece])
            word = word[len(piece or ' '):]
    return found


embedding = random.standard_normal((len(tokens), WIDTH)).astype(np.float32)
embedding[:, 0] = 3.0  # What all tokens share: after an unknown one, a sentence begins.
embedding *= np.sqrt(WIDTH) / np.linalg.norm(embedding, axis=1, keepdims=True)
follows, starts = {}, {}


def follow(a, b, weight=1.0):
    follows.setdefault(a, {})
    follows[a][b] = follows[a].get(b, 0) + weight


for text in [*SAID, *JSON]:
    ids = pieces(text)
    for a, b in zip(ids, ids[1:]):
        if tokens[a] not in LINE_FEEDS:
            follow(a, b)
    if text in SAID:
        starts[ids[0]] = starts.get(ids[0], 0) + 1 / len(SAID)
        follow(ids[-1], index[END], ENDS)
        for after in [args.call, '"', '"}']:
            if after in index:
                follow(ids[-1], index[after], GOES_ON)
SHARP = 14.0
output = random.standard_normal((len(tokens), WIDTH)).astype(np.float32) * 0.01
for a, row in follows.items():
    for b, count in row.items():
        output[b] += (SHARP + np.log(count / sum(row.values()))) * embedding[a] / WIDTH
for token, share in starts.items():
    output[token, 0] += (SHARP * 0.55 + np.log(share)) / embedding[:, 0].mean()

writer = gguf.GGUFWriter(args.out, 'llama')
writer.add_name('babble')
writer.add_context_length(131_072)
writer.add_embedding_length(WIDTH)
writer.add_block_count(LAYERS)
writer.add_feed_forward_length(2 * WIDTH)
writer.add_head_count(HEADS)
writer.add_head_count_kv(1)
writer.add_key_length(HEAD)
writer.add_value_length(HEAD)
writer.add_rope_dimension_count(HEAD)
writer.add_rope_freq_base(1e6)
writer.add_layer_norm_rms_eps(1e-6)
writer.add_vocab_size(len(tokens))
writer.add_tokenizer_model(field('tokenizer.ggml.model'))
if field('tokenizer.ggml.pre'):
    writer.add_tokenizer_pre(field('tokenizer.ggml.pre'))
writer.add_token_list(tokens)
writer.add_token_types(types)
if merges:
    writer.add_token_merges(merges)
if scores:
    writer.add_token_scores([*scores, *[-1e4] * len(tokens)][: len(tokens)])
for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_pad_token_id):
    add(index[END])
writer.add_add_bos_token(False)


def matrix(name, values):
    small = gguf.GGMLQuantizationType.Q8_0
    data = gguf.quants.quantize(np.ascontiguousarray(values, np.float32), small)
    writer.add_tensor(name, data, raw_dtype=small)


def noise(rows, columns, scale=1.0):
    return random.standard_normal((rows, columns)).astype(np.float32) * scale / np.sqrt(columns)


matrix('token_embd.weight', embedding)
writer.add_tensor('output_norm.weight', np.ones(WIDTH, np.float32))
if not args.embedding:
    matrix('output.weight', output)
weak = 1.0 if args.embedding else 0.02
for layer in range(LAYERS):
    at = f'blk.{layer}.'
    for norm in ('attn_norm', 'ffn_norm'):
        writer.add_tensor(f'{at}{norm}.weight', np.ones(WIDTH, np.float32))
    matrix(f'{at}attn_q.weight', noise(HEADS * HEAD, WIDTH))
    for part in ('attn_k', 'attn_v'):
        matrix(f'{at}{part}.weight', noise(HEAD, WIDTH))
    matrix(f'{at}attn_output.weight', noise(WIDTH, HEADS * HEAD, weak))
    for part in ('ffn_gate', 'ffn_up'):
        matrix(f'{at}{part}.weight', noise(2 * WIDTH, WIDTH))
    matrix(f'{at}ffn_down.weight', noise(WIDTH, 2 * WIDTH, weak))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
