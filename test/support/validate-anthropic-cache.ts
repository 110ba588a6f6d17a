import { isRecord, records, type Problems } from './validate.ts';

/** At most four cache marks, each well formed, at a place that may bear one, the longer-lived first. */
export function checkAnthropicCacheMarks(problems: Problems, body: Readonly<Record<string, unknown>>): void {
  const marks: { readonly path: string; readonly mark: unknown }[] = [];
  const look = (value: Readonly<Record<string, unknown>>, path: string): void => {
    const mark = value['cache_control'];
    if (mark === undefined || mark === null) return;
    marks.push({ path: `${path}.cache_control`, mark });
    problems.must(
      value['type'] !== 'thinking' && value['type'] !== 'redacted_thinking',
      path,
      'a thinking block may not bear a cache mark',
    );
  };
  // The API reads a request in this order.
  for (const [index, tool] of records(body['tools']).entries()) look(tool, `tools[${index}]`);
  for (const [index, block] of records(body['system']).entries()) look(block, `system[${index}]`);
  for (const [index, message] of records(body['messages']).entries()) {
    for (const [at, block] of records(message['content']).entries()) {
      const path = `messages[${index}].content[${at}]`;
      look(block, path);
      for (const [inner, part] of records(block['content']).entries()) look(part, `${path}.content[${inner}]`);
    }
  }
  look(body, 'body');

  problems.must(marks.length <= 4, 'cache_control', `at most 4 cache marks are allowed, found ${marks.length}`);
  let shortSeen = false;
  for (const { path, mark } of marks) {
    if (!isRecord(mark) || mark['type'] !== 'ephemeral') {
      problems.add(path, 'must be {type: "ephemeral", ttl?}');
      continue;
    }
    problems.keys(mark, path, ['type', 'ttl']);
    const ttl = mark['ttl'] ?? '5m';
    problems.oneOf(ttl, `${path}.ttl`, ['5m', '1h']);
    problems.must(ttl !== '1h' || !shortSeen, path, 'a mark of 1h must not follow a mark of 5m');
    if (ttl === '5m') shortSeen = true;
  }
}
