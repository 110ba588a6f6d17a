import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { operation } from '../net/http.ts';
import type { FileName } from '../../core/gateway/operations/files.ts';
import { useLoaded } from '../parts/loaded.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { changes } from '../state/app.ts';
import { whole } from '../text/figures.ts';
import { shown } from '../text/shown.ts';
import { FileEditor } from './file-editor.tsx';

/** The files that say who the assistant is and what it remembers. */
export function Memory(): VNode {
  const { value, problem, again } = useLoaded(
    () => operation('filesList', {}),
    [changes('files').value, changes('memory').value],
  );
  const [chosen, choose] = useState<FileName>('MEMORY.md');
  if (value === undefined) return problem === undefined ? <Loading /> : <Problem text={problem} again={again} />;
  if (value.length === 0) return <Empty>There are no files yet.</Empty>;
  const file = value.find(({ name }) => name === chosen) ?? value[0];
  return (
    <div class="column">
      <p class="lead">
        What the assistant remembers, and who it is. It reads these files before each answer; a change counts from your
        next message on.
      </p>
      <div class="tabs" role="tablist" aria-label="Files">
        {value.map(({ name }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === file?.name}
            aria-controls="file"
            onClick={() => choose(name)}
          >
            {shown(name.replace(/\.md$/u, ''))}
          </button>
        ))}
      </div>
      {file === undefined ? null : (
        <section id="file" role="tabpanel" aria-labelledby={`tab-${file.name}`}>
          <p class="faint">
            {shown(file.description)}{' '}
            {file.writable
              ? `The assistant reads up to ${whole(file.maxCharacters)} characters of it.`
              : 'It can only be read here.'}
          </p>
          <FileEditor key={file.name} name={file.name} />
        </section>
      )}
    </div>
  );
}
