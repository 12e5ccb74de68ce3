# SPDX-License-Identifier: Apache-2.0
"""Draws text, trains tokenizers with the package `tokenizers`, and compares its tokens with dtrain's. Prints what differs, with the seed."""
import json
import os
import random
import subprocess
import sys
import unicodedata

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SEED = int(os.environ.get("TEST_SEED", random.SystemRandom().randrange(1 << 32)))
r = random.Random(SEED)
BYTES = int(os.environ.get("TEST_BYTES", 600_000))

# ---- text ----

def letters(*ranges):
    return [chr(c) for first, last in ranges for c in range(first, last + 1)]

ALPHABETS = [
    letters((97, 122)), letters((65, 90)), letters((97, 122), (48, 57)), letters((48, 57)),
    letters((0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x17F)), letters((0x391, 0x3A1), (0x3A3, 0x3C9)), letters((0x400, 0x45F)),
    letters((0x5D0, 0x5EA)), letters((0x621, 0x64A), (0x660, 0x669)), letters((0x905, 0x939), (0x93E, 0x94D), (0x966, 0x96F)), letters((0xE01, 0xE30)),
    letters((0x4E00, 0x9FA5)), letters((0x3041, 0x3093)), letters((0x30A1, 0x30F6)), letters((0xAC00, 0xD7A3)), letters((0x20000, 0x2A6D6)),
    letters((0x300, 0x314), (0x323, 0x333), (0x483, 0x487)), letters((0x1F600, 0x1F64F), (0x1F300, 0x1F5FF)), letters((0x2160, 0x2188), (0xB2, 0xB3), (0xBC, 0xBE)),
    letters((33, 47), (58, 64), (91, 96), (123, 126)), letters((0x2010, 0x2027), (0x2030, 0x205E), (0x3001, 0x3003), (0x20A0, 0x20B0), (0xA1, 0xAC), (0xAE, 0xBF)),
    letters((0x1D400, 0x1D454)), letters((0x1E00, 0x1EFF), (0x1F00, 0x1F15)), letters((0xFB50, 0xFBB1), (0xF900, 0xFA0D)),
    letters((1, 8), (14, 31), (0x7F, 0x84), (0x86, 0x9F)), letters((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0xFEFF, 0xFEFF), (0xAD, 0xAD), (0x180E, 0x180E), (0xE000, 0xE010)),
]
BLANKS = [" ", "  ", "\n", "\r\n", "\t", "   \n  ", "\r", "\v\f", "\u00a0", "\u3000", "\u2003", "\u2028", "\u0085", "\u1680", " " * 40, "\n\n\n"]
PIECES = ["'s", "'ll", "'RE", "don't", "I'm", "\U0001F468\u200D\U0001F469\u200D\U0001F467", "\U0001F3F3\uFE0F\u200D\U0001F308", "\U0001F44D\U0001F3FD",
          "e\u0301", "\u1112\u1161\u11ab", "3.14159", "1,234,567", "x" * 150, "a1b2c3", "_under_score", "<mask>", "<|end|>", "[MASK]", "[CLS]", "\u0130\u0131", "\ufffd", "stra\u00dfe",
          "\u01c5", "\u1e9e", "\u03a3\u03c3\u03c2", "\u212a", "\u00e9t\u00e9", "NAÏVE", "naive word", "Naïve Wörd"]
COMMON = ["".join(r.choices(ALPHABETS[0], k=r.randint(1, 9))) for _ in range(800)]

def word():
    kind = r.random()
    if kind < 0.6:
        w = r.choice(COMMON)
        return r.choice([w, w, w, w.capitalize(), w.upper()])
    if kind < 0.9:
        return "".join(r.choices(r.choice(ALPHABETS), k=r.randint(1, 8)))
    return r.choice(PIECES)

def text(most):
    parts = []
    size = 0
    while size < most:
        parts.append(word() + (" " if r.random() < 0.7 else r.choice(BLANKS) if r.random() < 0.6 else ""))
        size += len(parts[-1].encode())
    return "".join(parts)

def texts(total, most):
    made = []
    while total > 0:
        made.append(text(r.randint(1, most)))
        total -= len(made[-1].encode())
    return made

# ---- tokenizers ----

GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

def bpe(corpus, split, **how):
    t = Tokenizer(models.BPE(**how))
    t.pre_tokenizer = split
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=3000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|end|>"], show_progress=False))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=True)])
    t.add_tokens([AddedToken("don't", single_word=True), AddedToken("3.14159", single_word=True, lstrip=True), AddedToken("'s", single_word=True, normalized=False)])
    return t

def gpt2(corpus):
    t = bpe(corpus, pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t

def roberta(corpus):
    t = bpe(corpus, pre_tokenizers.ByteLevel(add_prefix_space=True))
    t.post_processor = processors.RobertaProcessing(("<|end|>", 0), ("<mask>", t.token_to_id("<mask>")))
    t.enable_padding(pad_id=7, pad_token="x", direction="left")
    return t

def gpt4(corpus):
    split = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(GPT4), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t = bpe(corpus, split, ignore_merges=True)
    t.post_processor = processors.TemplateProcessing(single="<|end|> $A <mask>", special_tokens=[("<|end|>", 0), ("<mask>", t.token_to_id("<mask>"))])
    return t

def characters(corpus):
    t = Tokenizer(models.BPE(unk_token="[UNK]", fuse_unk=bool(r.getrandbits(1))))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=bool(r.getrandbits(1)))])
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=2500, limit_alphabet=600, special_tokens=["[UNK]"], show_progress=False))
    return t

def bert(corpus):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=r.choice([20, 100])))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=3000, limit_alphabet=700, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    t.add_tokens([AddedToken("Naïve Wörd", normalized=True), AddedToken("a1b2c3", single_word=True), AddedToken("étÉ", normalized=True, single_word=True)])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t

def cased(corpus):
    t = bert(corpus)
    t.normalizer = normalizers.BertNormalizer(clean_text=bool(r.getrandbits(1)), handle_chinese_chars=bool(r.getrandbits(1)), strip_accents=bool(r.getrandbits(1)), lowercase=bool(r.getrandbits(1)))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t

def lowercase(corpus):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", continuing_subword_prefix="+"))
    t.normalizer = normalizers.Lowercase()
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=3000, special_tokens=["[UNK]"], continuing_subword_prefix="+", show_progress=False))
    return t

def unigram(corpus):
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    few = ["".join(c for c in x if ord(c) < 0x600) for x in corpus[:100]]  # all characters that it sees become tokens
    t.train_from_iterator(few, trainers.UnigramTrainer(vocab_size=1500, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=r.choice(["always", "never"]), split=bool(r.getrandbits(1)))
    t.add_special_tokens(["<|end|>"])
    return t

def fallback(corpus):
    """Bytes that have no token."""
    t = unigram(corpus)
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    whole = json.loads(t.to_str())
    whole["model"]["byte_fallback"] = True
    whole["model"]["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256)]
    whole["added_tokens"] = whole["added_tokens"][:1]
    return Tokenizer.from_str(json.dumps(whole))

def edited(t, change):
    whole = json.loads(t.to_str())
    change(whole)
    return Tokenizer.from_str(json.dumps(whole))

def with_bytes(whole):
    """Adds tokens of bytes behind the others of BPE."""
    vocab = whole["model"]["vocab"]
    for b in range(256):
        vocab[f"<0x{b:02X}>"] = len(vocab)
    whole["model"]["byte_fallback"] = True

def lacking(corpus):
    """Characters of ByteLevel that have no token."""
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.ByteLevel()
    t.train_from_iterator(corpus[:100], trainers.BpeTrainer(vocab_size=600, limit_alphabet=60, special_tokens=["<unk>"], show_progress=False))
    return edited(t, with_bytes)

def llama_bpe(corpus):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    few = ["".join(c for c in x if ord(c) < 0x250 and c.isprintable()) for x in corpus[:100]]
    t.train_from_iterator(few, trainers.BpeTrainer(vocab_size=2000, limit_alphabet=120, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False))
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return edited(t, with_bytes)

def llama2(corpus):
    t = llama_bpe(corpus)
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    t.pre_tokenizer = None
    return t

def mistral(corpus):
    t = llama_bpe(corpus)
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=bool(r.getrandbits(1)))
    return t

def gemma(corpus):
    t = llama_bpe(corpus)
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_previous")
    return t

def qwen(corpus):
    t = gpt4(corpus)
    t.normalizer = normalizers.NFC()
    return t

def marks(corpus):
    t = lowercase(corpus)
    forms = [normalizers.NFD(), normalizers.NFKD(), normalizers.NFKC(), normalizers.NFC()]
    t.normalizer = normalizers.Sequence([normalizers.Strip(left=bool(r.getrandbits(1))), r.choice(forms), normalizers.StripAccents(), normalizers.Lowercase(), r.choice(forms),
                                         normalizers.Replace(Regex("[0-9]+"), "0"), normalizers.Replace("``", '"')])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    return t

def charsmap(pairs):
    """SentencePiece's map, as a double array of units."""
    trie, blob = {}, b""
    for key, value in sorted(pairs.items()):
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = len(blob)
        blob += value.encode() + b"\0"
    units, used, bases = [0] * 256, {0}, set()
    def place(node, at):
        labels = sorted(0 if k is None else k for k in node)
        base = 1
        while base in bases or (base ^ at) >= 1 << 21 or any((base ^ k) in used for k in labels):
            base += 1
        bases.add(base)
        while len(units) <= base | 255:
            units.append(0)
        used.update(base ^ k for k in labels)
        units[at] |= (base ^ at) << 10 | (256 if None in node else 0)
        for k in labels:
            units[base ^ k] = 1 << 31 | node[None] if k == 0 else k
        for k in labels:
            if k:
                place(node[k], base ^ k)
    place(trie, 0)
    return np.array([4 * len(units), *units], "<u4").tobytes() + blob

def t5(corpus):
    t = unigram(corpus)
    pairs = {c: unicodedata.normalize("NFKC", c) for c in letters((0xA0, 0x17F), (0x2000, 0x206F), (0x2100, 0x218F), (0xFB50, 0xFBB1), (0x1E00, 0x1EFF)) if unicodedata.normalize("NFKC", c) != c}
    pairs |= {"e\u0301": "\u00e9", "\u0007": "", "\r": " ", "\n": " ", "\t": " ", "\u3000": " "}
    t.normalizer = normalizers.Precompiled(charsmap(pairs))
    if r.getrandbits(1):
        t.normalizer = normalizers.Sequence([t.normalizer, normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return t

MERGED = ["isolated", "removed", "merged_with_previous", "merged_with_next"]

def clip(corpus):
    """The end of a word in BPE by bytes."""
    t = Tokenizer(models.BPE(unk_token="<|end|>", end_of_word_suffix="</w>", continuing_subword_prefix=""))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=3000, end_of_word_suffix="</w>", initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|end|>"], show_progress=False))
    return t

def openai(corpus):
    """The end of a word in BPE by characters."""
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=bool(r.getrandbits(1))))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"\p{N}+"), r.choice(MERGED), invert=bool(r.getrandbits(1)))])
    t.decoder = decoders.BPEDecoder("</w>")
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=2500, limit_alphabet=600, end_of_word_suffix="</w>", special_tokens=["<unk>"], show_progress=False))
    return t

def words(corpus):
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(r.choice([*MERGED, "contiguous"])),
                                               pre_tokenizers.Split(r.choice("aeiou"), r.choice(MERGED), invert=bool(r.getrandbits(1)))])
    t.train_from_iterator(corpus, trainers.WordLevelTrainer(vocab_size=3000, special_tokens=["[UNK]"], show_progress=False))
    return t

MAKERS = {"clip": clip, "openai": openai, "words": words, "llama2": llama2, "mistral": mistral, "gemma": gemma, "qwen": qwen, "marks": marks, "t5": t5, "gpt2": gpt2, "roberta": roberta, "gpt4": gpt4, "characters": characters, "bert": bert, "cased": cased, "lowercase": lowercase, "unigram": unigram, "fallback": fallback, "lacking": lacking}

# ---- comparing ----

def run(*words):
    done = subprocess.run([os.environ["DTRAIN"], *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"seed {SEED}: dtrain {' '.join(words)}: exit {done.returncode}\n{done.stderr}")

JOB = """version: 1
dataset: {format: %s, train: %s, global_batch_size: 1, %s}
model: {layers: [Input: {name: %s, shape: [%d], dtype: int32}, Embedding: {input_dim: 9, output_dim: 2}]}
compile: {optimizer: sgd, loss: sparse_categorical_crossentropy, target: %s}
fit: {epochs: 1}
"""

def same(name, got, want, shown):
    if got.shape == want.shape and np.array_equal(got, want):
        return True
    if got.shape != want.shape:
        print(f"seed {SEED}: {name}: {got.shape} tokens, not {want.shape}")
        return False
    at = int(np.flatnonzero((got != want).reshape(-1))[0])
    at = (at // want.shape[1], at % want.shape[1]) if want.ndim > 1 else (at,)
    i = at[-1]
    print(f"seed {SEED}: {name}: at {at}: {shown(got[at[:-1]][max(0, i - 3):i + 4])}, not {shown(want[at[:-1]][max(0, i - 3):i + 4])}")
    return False

def as_step(name, t, lines, length):
    """The step of map on texts of JSON lines."""
    with open("lines.jsonl", "w", encoding="utf-8") as f:
        for line in lines:
            f.write(json.dumps({"x": line, "y": 0}, ensure_ascii=bool(r.getrandbits(1))) + "\n")
    keys = "element: {x: {column: x, dtype: string, max_bytes: 65535}, y: {column: y, dtype: int32}}, map: {x: [tokenizer: %s]}" % (name + ".json" if length == 512 else "{path: '${HERE}/%s.json', max_length: %d}" % (name, length))
    with open("job.yaml", "w", encoding="utf-8") as f:
        f.write(JOB % ("jsonl", "lines.jsonl", keys, "x", length, "y"))
    run("data", "convert", "job.yaml", "-o", "a.npz", "--mapped", "-q")
    pad = dict(t.padding or {"pad_id": 0, "pad_token": "x", "direction": "right"})
    t.enable_truncation(length)
    t.enable_padding(pad_id=pad["pad_id"], pad_token=pad["pad_token"], direction=pad["direction"], length=length)
    want = np.array([e.ids for e in t.encode_batch(lines)], np.int32)
    t.no_truncation()
    t.no_padding()
    with np.load("a.npz") as got:
        return same(name, got["x"], want, lambda ids: [t.id_to_token(int(i)) for i in ids])

def as_text(name, t, whole):
    """format: text, of all tokens of one text."""
    with open("whole.txt", "w", encoding="utf-8", newline="") as f:
        f.write(whole)
    with open("job.yaml", "w", encoding="utf-8") as f:
        f.write(JOB % ("text", "whole.txt", "tokenizer: {path: '${HERE}/%s.json'}, element: {tokens: {shape: [16], dtype: int32}}" % name, "tokens", 16, "targets"))
    run("data", "convert", "job.yaml", "-o", "b.npz", "-q")
    ids = t.encode(whole.removeprefix("\ufeff").replace("\r\n", "\n"), add_special_tokens=False).ids  # not the byte order mark of a file
    rows = (len(ids) - 1) // 16
    with np.load("b.npz") as got:
        return same(name + " (format: text)", got["tokens"].reshape(-1), np.array(ids[:16 * rows], np.int32), lambda ids: [t.id_to_token(int(i)) for i in ids])

def main():
    corpus = texts(200_000, 2000)
    lines = texts(BYTES, 9000) + [" ", "\r\n", "<mask>", "  <mask>  <mask> a", "x<|end|>", "a" * 20000, " " * 3000]
    ok = True
    for name in sys.argv[1:] or MAKERS:
        t = MAKERS[name](corpus)
        t.save(name + ".json", pretty=bool(r.getrandbits(1)))
        ok &= as_step(name, t, lines, r.choice([64, 512, 8000]))
        ok &= as_text(name, t, "".join(lines))
    sys.exit(0 if ok else 1)

main()
