import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { FileName, FileText } from '../../core/gateway/operations/files.ts';
import { RequestError, operation, sentenceOf } from '../net/http.ts';
import { Action } from '../parts/action.tsx';
import { Loading, Problem } from '../parts/states.tsx';
import { announcement, changes } from '../state/app.ts';
import { whole } from '../text/figures.ts';
import { FileHistory } from './file-history.tsx';

/** One file: its text, to be changed, and its earlier versions. */
export function FileEditor({ name }: { readonly name: FileName }): VNode {
  const [opened, open] = useState<FileText>();
  const [text, write] = useState('');
  const [problem, say] = useState('');
  const [isConflict, conflict] = useState(false);
  const isChanged = opened !== undefined && text !== opened.text;

  const load = async (): Promise<void> => {
    try {
      const read = await operation('filesRead', { name });
      open(read);
      write(read.text);
      conflict(false);
      say('');
    } catch (error) {
      say(sentenceOf(error));
    }
  };
  // Somebody else may have written it; what is being written here is not lost for that.
  useEffect(() => {
    if (!isChanged) void load();
  }, [changes('files').value, changes('memory').value]);

  const save = async (hash: string): Promise<void> => {
    try {
      const written = await operation('filesWrite', { name, text, hash });
      if (opened !== undefined) open({ ...opened, text, hash: written.hash });
      conflict(false);
      announcement.value = `${name} is saved.`;
    } catch (error) {
      if (!(error instanceof RequestError) || error.code !== 'file-changed') throw error;
      conflict(true);
    }
  };
  const overwrite = async (): Promise<void> => save((await operation('filesRead', { name })).hash);

  if (opened === undefined) return problem === '' ? <Loading /> : <Problem text={problem} again={() => void load()} />;
  const most = opened.maxCharacters;
  // A file that is too long already may at least become shorter.
  const isTooLong = text.length > most && text.length >= opened.text.length;
  return (
    <>
      <textarea
        class="text"
        aria-label={`Text of ${name}`}
        value={text}
        readOnly={!opened.writable}
        spellcheck={false}
        onInput={(event) => write(event.currentTarget.value)}
      />
      {opened.writable ? (
        <p class="under">
          <Action class="main" disabled={!isChanged || isTooLong} run={() => save(opened.hash)}>
            Save
          </Action>
          {isChanged ? (
            <button type="button" onClick={() => write(opened.text)}>
              Discard changes
            </button>
          ) : null}
          <span class={isTooLong && isChanged ? 'bad' : ''}>
            {isTooLong && isChanged
              ? `${whole(text.length)} characters are too many: ${whole(most)} is the most.`
              : isChanged
                ? 'Not saved yet'
                : 'Saved'}
          </span>
        </p>
      ) : (
        <p class="faint">{opened.locked}</p>
      )}
      {isConflict ? (
        <div class="state problem" role="alert">
          <p>{name} was changed since you opened it, so it was not saved. Your text is still here.</p>
          <button type="button" onClick={() => void load()}>
            Show the present text
          </button>
          <Action run={overwrite}>Save mine over it</Action>
        </div>
      ) : null}
      <FileHistory name={name} present={opened.text} restored={load} />
    </>
  );
}
