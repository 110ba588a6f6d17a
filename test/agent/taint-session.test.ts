import { describe, expect, test } from 'vitest';
import { anchorOf } from '../../src/core/agent/consolidation/run.ts';
import { endedTurns, readSpan } from '../../src/core/memory/consolidation/session-span.ts';
import type { Session } from '../../src/core/session/session.ts';
import { plainTurn, reset, turnEnd, turnStart, user } from '../session/tapes.ts';
import { sessionsWorld } from './sessions-world.ts';

const bitsOf = (session: Session): unknown => {
  const { untrusted, private: isPrivate } = session.history();
  return { untrusted, private: isPrivate };
};

describe('the bits of a conversation', () => {
  test('outlive what they came from in the anchor that stands for it, and go with /new', async () => {
    await using world = await sessionsWorld();
    const { session } = world;
    await world.append({ ...turnStart('t1'), private: true }, user('t1', 'read it'), turnEnd('t1'));
    await world.append(turnStart('t2'), user('t2', 'a page', { untrusted: true }), turnEnd('t2', '', 'answered'));
    await world.append(...plainTurn('t3', 'thanks', 'sure'));
    expect(bitsOf(session)).toEqual({ untrusted: true, private: true });
    const span = await readSpan(session);
    const turns = endedTurns(span).slice(0, 2);
    const upTo = turns.at(-1)?.end ?? '';
    const place = { span, turns, consolidated: new Set<string>(), unsummarised: [] };
    await world.append(anchorOf(place, { id: 'a1', upTo, reason: 'size', entries: ['Read a page.'], window: 65_536 }));
    expect(session.history()).toMatchObject({ boundary: 'anchor', untrusted: true, private: true });
    await world.append(reset());
    expect(bitsOf(session)).toEqual({ untrusted: false, private: false });
  });

  test('are set by a turn that was begun with the memory in its prompt', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'hi', 'hello'));
    expect(bitsOf(world.session)).toEqual({ untrusted: false, private: false });
    await world.append({ ...turnStart('t2'), private: true });
    expect(bitsOf(world.session)).toEqual({ untrusted: false, private: true });
  });
});
