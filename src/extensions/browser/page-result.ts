import { imageType, PAGE_MARGIN, type ToolContext, type ToolResult } from '../../core/api-tools.ts';
import { type App, cut } from '../../core/api.ts';
import type { Acted } from './browser.ts';

/** Characters for what stands beside the page. */
const MARGIN = 1_500;
const REFUSED = 'Not everything that the page wanted was let through; what was not is listed under "refused".';

/** What the model reads of a page: the tree first, then what happened beside it. */
export async function pageResult(
  did: string,
  { url, title, snapshot, notes, error, refusals, image }: Acted,
  { app, context }: { readonly app: App; readonly context: ToolContext },
): Promise<ToolResult> {
  const listed = refusals.length === 0 ? [] : ['refused:', ...refusals.map((sentence) => `- ${sentence}`)];
  const beside = [...notes.map((note) => `- ${note}`), ...listed].join('\n');
  const page = await pageText(snapshot, app, context);
  const output = [error === undefined ? '' : `It failed: ${error}`, page.text, cut(beside, MARGIN)];
  // What came out of the sandbox may be no picture.
  const picture = Buffer.from(image ?? '', 'base64');
  const mediaType = imageType(picture);
  return {
    title: did,
    output: output.filter((part) => part !== '').join('\n\n'),
    metadata: { url, title, ...(page.left > 0 ? { truncated: true, left: page.left } : {}) },
    ...(refusals.length === 0 ? {} : { note: REFUSED }),
    ...(error === undefined ? {} : { isError: true }),
    ...(mediaType === undefined
      ? {}
      : {
          media: [
            {
              kind: 'image',
              mediaType,
              path: await app.files.keepImage(picture),
              name: 'screenshot.jpg',
              size: picture.length,
            },
          ],
        }),
  };
}

async function pageText(
  snapshot: string,
  { config, spill }: App,
  { call }: ToolContext,
): Promise<{ readonly text: string; readonly left: number }> {
  const most = config.agent.toolResultChars - PAGE_MARGIN - MARGIN;
  if (snapshot.length <= most) return { text: snapshot, left: 0 };
  const begun = cut(snapshot, most);
  const lineEnd = begun.lastIndexOf('\n');
  const text = lineEnd > 0 ? begun.slice(0, lineEnd) : begun;
  const left = snapshot.length - text.length;
  const kept = await spill.put(call.sessionKey, call.id, snapshot).catch(() => undefined);
  const where = kept === undefined ? '' : `; the whole is in a file that read_file shows in pages: ${kept}`;
  return { text: `${text}\n\n(${left} more characters of this page${where})`, left };
}
