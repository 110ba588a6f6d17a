import { expect, test } from 'vitest';
import { Asking } from '../../support/asking-why.ts';
import { noBubblewrap } from '../../support/sandbox-world.ts';
import { OWNER, startWorld } from '../../support/world.ts';

test.skipIf(noBubblewrap !== undefined)(
  `/why says that a command failed in the sandbox, and what that does not allow${noBubblewrap ?? ''}`,
  async () => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'auto' } } } });
    const asking = new Asking(world);
    const touch = { calls: [{ name: 'exec', arguments: { command: 'touch /etc/made' } }] };
    const asked = await asking.say('make it', OWNER, touch, 'Done.');
    expect(await asking.why(asked)).toMatch(
      /^About “make it”: Failed: touch \/etc\/made ended with exit code 1\. It said last: “touch: .*Read-only file system”\. It ran in the sandbox, where only the workspace can be written and there is no internet\.$/u,
    );
  },
);
