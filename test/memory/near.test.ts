import { describe, expect, test } from 'vitest';
import { nearFacts } from '../../src/core/memory/facts/near.ts';

describe('a fact that may say another value of the same thing', () => {
  test.each([
    ['Lives in Paris', 'Lives in Berlin'],
    ['lives in paris.', 'Lives  in Berlin'],
    ['Lives in Paris with Anna since May', 'Lives in Berlin'],
    ['Anna was born on 4 May', 'Anna was born on 5 May'],
    ['Weighs 80 kg', 'Weighs 78 kg'],
    ['Phone: 4711', 'phone: +49 30 12345'],
    ['Telefon：4711', 'Telefon: 12'],
    ['我住在巴黎', '我住在柏林'],
    ['東京に住んでいます', '東京に住んでいました'],
    ['Живёт в Париже', 'Живёт в Берлине'],
    ['يعيش في باريس', 'يعيش في برلين'],
    ['Çalıştığı yer: Ankara', 'Çalıştığı yer: İzmir'],
  ])('%s is near to %s', (one, other) => {
    expect(nearFacts(one, [other])).toEqual([other]);
    expect(nearFacts(other, [one])).toEqual([one]);
  });

  test.each([
    ['Likes tea', 'Likes coffee'],
    ['Lives in Paris', 'Works in Berlin'],
    ['Berta was born on 4 May', 'Anna was born on 4 May'],
    ['Anna likes to swim in the lake in summer', 'Anna likes tea'],
    ['The owner is called Ming', 'The owner likes green tea a lot'],
    ['Note: buy milk', 'Anna: call her'],
    ['Paris', 'Berlin'],
    ['🙂', '🙃'],
  ])('%s is not near to %s', (one, other) => {
    expect(nearFacts(one, [other])).toEqual([]);
    expect(nearFacts(other, [one])).toEqual([]);
  });

  test('is not the fact itself, and at most five are named', () => {
    const many = Array.from({ length: 9 }, (_, n) => `Lives in town ${n}`);
    expect(nearFacts('Lives in town 3', many)).toEqual([0, 1, 2, 4, 5].map((n) => `Lives in town ${n}`));
  });
});
