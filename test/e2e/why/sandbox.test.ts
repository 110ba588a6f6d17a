import { expect } from 'vitest';
import { Asking } from '../../support/asking-why.ts';
import { testWith } from '../../support/test-with.ts';
import { OWNER, startWorld } from '../../support/world.ts';

testWith('bubblewrap')('/why says that a command failed in the sandbox, and what that does not allow', async () => {
  await using world = await startWorld({ config: { tools: { exec: { mode: 'auto' } } } });
  const asking = new Asking(world);
  const touch = { calls: [{ name: 'exec', arguments: { command: 'touch /etc/made' } }] };
  const asked = await asking.say('make it', OWNER, touch, 'Done.');
  expect(await asking.why(asked)).toMatch(
    /^About “make it”: Failed: touch \/etc\/made ended with exit code 1\. It said last: “touch: .*Read-only file system”\. It ran in the sandbox, where only the workspace can be written and there is no internet\.$/u,
  );
});
