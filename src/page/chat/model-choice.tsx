import type { VNode } from 'preact';
import { operation } from '../net/http.ts';
import { useLoaded } from '../parts/loaded.tsx';
import { changes } from '../state/app.ts';
import { sendMessage } from '../state/unsent.ts';
import { shown } from '../text/shown.ts';

/** Which model answers here; another choice holds for this conversation, also elsewhere. */
export function ModelChoice({ session, chat }: { readonly session: string; readonly chat: string }): VNode | null {
  const { value } = useLoaded(() => operation('modelsList', { session }), [session, changes('sessions').value]);
  if (value === undefined || value.models.length < 2) return null;
  const others = value.models.filter((name) => value.chosen !== null || name !== value.current);
  return (
    <select
      class="quiet model"
      aria-label="Model"
      value={value.chosen ?? ''}
      onChange={({ currentTarget }) => {
        const name = currentTarget.value;
        sendMessage({ chat, text: `/model ${name === '' ? 'default' : name}` });
      }}
    >
      <option value="">{value.chosen === null ? shown(value.current) : 'Default model'}</option>
      {others.map((name) => (
        <option key={name} value={name}>
          {shown(name)}
        </option>
      ))}
    </select>
  );
}
