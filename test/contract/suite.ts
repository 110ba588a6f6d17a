import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessBehaviours } from './access.ts';
import type { Behaviour } from './behaviour.ts';
import type { PlatformBench } from './bench.ts';
import { deliveryBehaviours } from './delivering.ts';
import { groupBehaviours } from './groups.ts';
import { inboundBehaviours } from './inbound.ts';
import { lifeBehaviours } from './life.ts';
import { outboundBehaviours } from './outbound.ts';
import { reactionBehaviours } from './reactions.ts';
import { Stage } from './stage.ts';
import { streamingBehaviours } from './streaming.ts';

/** Behaviours of chats of their own, side by side. */
const sections: Readonly<Record<string, readonly Behaviour[]>> = {
  access: accessBehaviours,
  'a group': groupBehaviours,
  'what comes in': inboundBehaviours,
  'what goes out': outboundBehaviours,
  'an answer while it is written': streamingBehaviours,
  delivery: deliveryBehaviours,
  'a reaction': reactionBehaviours,
};

/** The contract of a channel: every behaviour that its platform can have, on one running assistant. */
export function describeChannel(platform: PlatformBench): void {
  let stage: Stage;
  const add = ({ title, needs, run }: Behaviour): void => {
    const missing = needs.find((ability) => platform.lacks[ability] !== undefined);
    if (missing === undefined) test(title, () => run(stage));
    else test.skip(`${title} (no ${missing}: ${platform.lacks[missing]})`);
  };
  describe(`the channel contract on ${platform.kind}`, () => {
    beforeAll(async () => {
      stage = await Stage.open(platform);
    });
    afterAll(async () => {
      await stage[Symbol.asyncDispose]();
    });
    describe.concurrent('side by side', () => {
      for (const [name, behaviours] of Object.entries(sections)) {
        describe(name, () => {
          for (const behaviour of behaviours) add(behaviour);
        });
      }
    });
    // They stop the assistant, so each has it for itself.
    describe('life', () => {
      for (const behaviour of lifeBehaviours) add(behaviour);
    });
    test('has at least 40 behaviours', () => {
      const count = [...Object.values(sections), lifeBehaviours].flat().length;
      expect(count).toBeGreaterThanOrEqual(40);
    });
  });
}
