import type { SendingRequest } from '../../core/api-sandbox.ts';
import { cut, plural } from '../../core/api.ts';

/** Characters of what would be sent that a person is shown. */
const MOST_SHOWN = 2_500;
const LONGEST_VALUE = 600;

/** What a request would send, in lines that a person can read; `page`: where it comes from. */
export function sendingText({ method, url, headers, body }: SendingRequest, page: string): string {
  const type = (headers['content-type'] ?? '').toLowerCase();
  const lines = bodyLines(type, Buffer.from(body));
  const whole = lines.map((line) => `  ${line}`).join('\n');
  const shown = cut(whole, MOST_SHOWN);
  const rest = whole.length - shown.length;
  return [
    `${method} ${cut(url, LONGEST_VALUE)}`,
    `from the page ${cut(page, LONGEST_VALUE)}`,
    ...(lines.length === 0 ? ['It sends nothing else.'] : ['It sends:', shown]),
    ...(rest > 0 ? [`  (and ${rest} more characters)`] : []),
  ].join('\n');
}

function bodyLines(type: string, body: Buffer): readonly string[] {
  if (body.length === 0) return [];
  const text = body.toString('utf8');
  if (type.startsWith('application/x-www-form-urlencoded')) {
    return [...new URLSearchParams(text)].map(([name, value]) => `${name}: ${cut(value, LONGEST_VALUE)}`);
  }
  const boundary = /^multipart\/form-data;.*boundary="?(?<boundary>[^";]+)/u.exec(type)?.groups?.['boundary'];
  if (boundary !== undefined) return partLines(body.toString('latin1'), headerBoundary(body, boundary));
  if (type.includes('json') || type.startsWith('text/')) return pretty(text).split('\n');
  return [`${plural(body.length, 'byte')} of ${type === '' ? 'no known kind' : cut(type, 80)}`];
}

/** The boundary as it is written: the type was put in lower case. */
function headerBoundary(body: Buffer, boundary: string): string {
  const first = body.subarray(0, boundary.length + 2).toString('latin1');
  return first.toLowerCase() === `--${boundary}` ? first : `--${boundary}`;
}

/** Names and values of a form with files; of a file its name and size. */
function partLines(body: string, boundary: string): readonly string[] {
  return body
    .split(boundary)
    .slice(1, -1)
    .map((part) => {
      const [head = '', ...rest] = part.split('\r\n\r\n');
      const content = Buffer.from(rest.join('\r\n\r\n').replace(/\r\n$/u, ''), 'latin1');
      const name = /\bname="(?<name>[^"]*)"/iu.exec(head)?.groups?.['name'] ?? '?';
      const file = /\bfilename="(?<file>[^"]*)"/iu.exec(head)?.groups?.['file'];
      const value =
        file === undefined
          ? cut(content.toString('utf8'), LONGEST_VALUE)
          : `the file ${file}, ${plural(content.length, 'byte')}`;
      return `${Buffer.from(name, 'latin1').toString('utf8')}: ${value}`;
    });
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
