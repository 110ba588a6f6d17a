import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inNetwork, judgeAddress, judgeAnswer } from '../../src/core/security/fetch/addresses.ts';
import { systemNetworks } from '../../src/core/security/fetch/target.ts';
import { readUrl } from '../../src/core/security/fetch/url-rules.ts';

type V4 = readonly [number, number, number, number];

const byte = fc.integer({ min: 0, max: 255 });
const anyV4 = fc.tuple(byte, byte, byte, byte);
const privateV4: fc.Arbitrary<V4> = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, 127, 240, 255), byte, byte, byte),
  fc.tuple(fc.integer({ min: 224, max: 239 }), byte, byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(198), fc.constantFrom(18, 19), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(0), fc.constantFrom(0, 2), byte),
);
const group = fc.integer({ min: 0, max: 0xffff });

const hex = (number: number): string => number.toString(16);
const high = ([a, b]: V4): string => hex(a * 256 + b);
const low = ([, , c, d]: V4): string => hex(c * 256 + d);
const dotted = (v4: V4): string => v4.join('.');
const turned = ([a, b, c, d]: V4): V4 => [a ^ 255, b ^ 255, c ^ 255, d ^ 255];

/** Every way of carrying an IPv4 address in an IPv6 one; `g` fills what is free. */
const embeddings: Readonly<Record<string, (v4: V4, g: number) => string>> = {
  mapped: (v4) => `::ffff:${high(v4)}:${low(v4)}`,
  'mapped in dots': (v4) => `::ffff:${dotted(v4)}`,
  compatible: (v4) => `::${high(v4)}:${low(v4)}`,
  translated: (v4) => `::ffff:0:${high(v4)}:${low(v4)}`,
  NAT64: (v4) => `64:ff9b::${high(v4)}:${low(v4)}`,
  'NAT64 in dots': (v4) => `64:ff9b::${dotted(v4)}`,
  'local NAT64, /96': (v4, g) => `64:ff9b:1:${hex(g)}::${high(v4)}:${low(v4)}`,
  'local NAT64, /48': ([a, b, c, d]) => `64:ff9b:1:${high([a, b, 0, 0])}:${hex(c)}:${hex(d * 256)}::`,
  'local NAT64, /64': ([a, b, c, d], g) => `64:ff9b:1:${hex(g)}:${hex(a)}:${high([b, c, 0, 0])}:${hex(d * 256)}:0`,
  '6to4': (v4, g) => `2002:${high(v4)}:${low(v4)}:${hex(g)}::1`,
  'Teredo server': (v4, g) => `2001:0:${high(v4)}:${low(v4)}:${hex(g)}:1:f7f7:f7f7`,
  'Teredo client': (v4, g) => `2001:0:808:808:${hex(g)}:1:${high(turned(v4))}:${low(turned(v4))}`,
  ISATAP: (v4, g) => `2a00:1450:4001:${hex(g)}:0:5efe:${high(v4)}:${low(v4)}`,
  'ISATAP, global': (v4, g) => `2a00:1450:4001:${hex(g)}:200:5efe:${high(v4)}:${low(v4)}`,
};

describe('An address inside another', () => {
  test.each(Object.entries(embeddings))('is never public when the inner one is not: %s', (_name, embed) => {
    fc.assert(
      fc.property(privateV4, group, (v4, g) => {
        expect(judgeAddress(dotted(v4)).kind).not.toBe('public');
        const outer = embed(v4, g);
        expect(judgeAddress(outer).kind, outer).not.toBe('public');
        expect(judgeAnswer(outer).kind, outer).not.toBe('public');
      }),
      { numRuns: 300 },
    );
  });

  test.each(Object.entries(embeddings))('is never opened when it is a metadata address: %s', (_name, embed) => {
    for (const v4 of [
      [169, 254, 169, 254],
      [100, 100, 100, 200],
      [168, 63, 129, 16],
    ] as const) {
      expect(judgeAddress(embed(v4, 7)).kind).toBe('metadata');
      expect(judgeAnswer(embed(v4, 7)).kind).toBe('metadata');
    }
  });

  test('is taken for the public one it stands for only when a NAT64 resolver answered it', () => {
    expect(judgeAnswer('64:ff9b::5db8:d822').kind).toBe('public');
    expect(judgeAddress('64:ff9b::5db8:d822').kind).toBe('private');
    expect(judgeAnswer('64:ff9b:1::5db8:d822').kind).toBe('private');
  });
});

test('An IPv6 address outside 2000::/3 is never public', () => {
  fc.assert(
    fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
      const first = groups[0] ?? 0;
      const text = groups.map(hex).join(':');
      if (first < 0x2000 || first > 0x3fff) expect(judgeAddress(text).kind).not.toBe('public');
    }),
    { numRuns: 500 },
  );
});

test('Any unusual spelling of any IPv4 address in a URL is refused, also of a public one', () => {
  const spellings: ((v4: V4) => string)[] = [
    (v4) => String(v4.reduce((sum, part) => sum * 256 + part, 0)),
    (v4) => `0x${v4.map((part) => hex(part).padStart(2, '0')).join('')}`,
    (v4) => v4.map((part) => `0${part.toString(8)}`).join('.'),
    (v4) => v4.map((part) => `0x${hex(part)}`).join('.'),
    ([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
    ([a, b, c, d]) => `${a}.${b * 65_536 + c * 256 + d}`,
    (v4) => `${dotted(v4)}.`,
    (v4) => v4.join('。'),
    (v4) => dotted(v4).replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  ];
  fc.assert(
    fc.property(anyV4, fc.constantFrom(...spellings), (v4, spell) => {
      expect(() => readUrl(`http://${spell(v4)}/`), spell(v4)).toThrow(/unusual spelling/);
    }),
    { numRuns: 500 },
  );
});

test('The networks of this machine are those of its interfaces, each at least with its own address', () => {
  expect(systemNetworks().some((network) => inNetwork('127.0.0.1', network))).toBe(true);
  expect(systemNetworks().some((network) => inNetwork('93.184.216.34', network))).toBe(false);
});

test('A network holds its own addresses, and what cannot be read is in none', () => {
  expect(inNetwork('2a02:908:1::5', '2a02:908:1::1/64')).toBe(true);
  expect(inNetwork('2a02:908:2::5', '2a02:908:1::1/64')).toBe(false);
  expect(inNetwork('93.184.216.34', '93.184.216.1/24')).toBe(true);
  expect(inNetwork('93.184.217.34', '93.184.216.1/24')).toBe(false);
  expect(inNetwork('93.184.217.34', '::/0')).toBe(false);
  expect(inNetwork('93.184.217.34', 'nonsense')).toBe(false);
});
