import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { sentenceOf } from '../net/http.ts';
import { Icon } from '../parts/icon.tsx';
import { announcement } from '../state/app.ts';
import { canHear } from '../state/abilities.ts';
import { sendMessage } from '../state/unsent.ts';
import { uploadFile } from './attachments.ts';

const TYPES = ['audio/webm;codecs=opus', 'audio/ogg;codecs=opus', 'audio/mp4'];

/** Records a voice message and sends it; shown where voice is turned into text. */
export function Microphone({ chat }: { readonly chat: string }): VNode | null {
  const recorder = useRef<MediaRecorder | undefined>(undefined);
  const [isOn, on] = useState(false);
  // A browser offers the microphone on secure addresses only.
  if (!canHear.value || !('mediaDevices' in navigator)) return null;
  const begin = async (): Promise<void> => {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const mimeType = TYPES.find((type) => MediaRecorder.isTypeSupported(type));
      const made = new MediaRecorder(stream, mimeType === undefined ? {} : { mimeType });
      const parts: Blob[] = [];
      made.addEventListener('dataavailable', ({ data }) => parts.push(data));
      made.addEventListener('stop', () => {
        for (const track of stream.getTracks()) track.stop();
        on(false);
        void sendVoice(chat, new Blob(parts, { type: made.mimeType.split(';')[0] ?? 'audio/webm' }));
      });
      made.start();
      recorder.current = made;
      on(true);
      announcement.value = 'Recording.';
    } catch (error) {
      announcement.value = `The microphone cannot be used: ${sentenceOf(error)}`;
    }
  };
  const toggle = (): void => {
    if (isOn) recorder.current?.stop();
    else void begin();
  };
  const label = isOn ? 'Send the voice message' : 'Record a voice message';
  return (
    <button
      type="button"
      class={`round${isOn ? ' on' : ''}`}
      aria-label={label}
      title={label}
      aria-pressed={isOn}
      onClick={toggle}
    >
      <Icon name="voice" />
    </button>
  );
}

async function sendVoice(chat: string, sound: Blob): Promise<void> {
  const name = `voice.${sound.type.split('/')[1] ?? 'webm'}`;
  try {
    const { upload } = await uploadFile(sound, name);
    sendMessage({ chat, text: '', media: [{ upload, name }] });
  } catch (error) {
    announcement.value = sentenceOf(error);
  }
}
