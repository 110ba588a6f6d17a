import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Preloaded into a child: writes every package, every file of `src` and of a built `dist` that is loaded to the file in RECORD_LOADS. */
const file = process.env['RECORD_LOADS'] ?? '';
const root = new URL('../../', import.meta.url).href;
registerHooks({
  load(url, context, nextLoad) {
    const own = url.startsWith(`${root}src/`) ? url.slice(root.length) : /\bdist\/[^/]+\.js$/u.exec(url)?.[0];
    const name = own ?? /node_modules\/(?<name>(?:@[^/]+\/)?[^/]+)/u.exec(url)?.groups?.['name'];
    if (name !== undefined) appendFileSync(file, `${name}\n`);
    return nextLoad(url, context);
  },
});
