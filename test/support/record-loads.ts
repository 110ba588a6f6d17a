import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Preloaded into a child: writes the name of every package that is loaded to the file in RECORD_LOADS. */
const file = process.env['RECORD_LOADS'] ?? '';
registerHooks({
  load(url, context, nextLoad) {
    const name = /node_modules\/(?<name>(?:@[^/]+\/)?[^/]+)/u.exec(url)?.groups?.['name'];
    if (name !== undefined) appendFileSync(file, `${name}\n`);
    return nextLoad(url, context);
  },
});
