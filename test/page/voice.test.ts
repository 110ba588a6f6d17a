import { expect, test } from 'vitest';
import { inBrowserAt, startHome, type Home, type Served } from './world.ts';

/** A `FakeSpeech` of test/support, whose own types are Node's. */
interface Speech extends AsyncDisposable {
  readonly url: string;
  sound: Uint8Array | number;
}

/** A tenth of a second of silence, as a WAV file. */
function silence(): Uint8Array {
  const samples = 800;
  const bytes = new Uint8Array(44 + samples);
  const view = new DataView(bytes.buffer);
  const letters = (at: number, text: string): void => bytes.set(new TextEncoder().encode(text), at);
  letters(0, 'RIFF');
  view.setUint32(4, 36 + samples, true);
  letters(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, 8_000, true);
  view.setUint32(28, 8_000, true);
  view.setUint16(32, 1, true);
  view.setUint16(34, 8, true);
  letters(36, 'data');
  view.setUint32(40, samples, true);
  return bytes.fill(128, 44);
}

async function startSpeaking(): Promise<Served<Home>> {
  const support = new URL('../support/fake-speech.ts', import.meta.url).href;
  const module: { startFakeSpeech(): Promise<Speech> } = await import(support);
  const speech = await module.startFakeSpeech();
  speech.sound = silence();
  const served = await startHome({ config: { voice: { speech: { baseUrl: speech.url, format: 'wav' } } } });
  const stop = async (): Promise<void> => {
    await served.assistant[Symbol.asyncDispose]();
    await speech[Symbol.asyncDispose]();
  };
  return { ...served, assistant: { ...served.assistant, [Symbol.asyncDispose]: stop } };
}

inBrowserAt('a spoken answer', startSpeaking, (open) => {
  test('has a player below its text, which plays it, also after a reload', async () => {
    await using visit = await open();
    const { page, assistant } = visit;
    assistant.model.reply({ calls: [{ name: 'message', arguments: { text: '', voice: true } }] }, 'Good evening.');
    await visit.converse('answer as voice', 'Good evening.');
    const player = page.locator('audio');
    for (const looked of ['at once', 'after a reload']) {
      await player.waitFor();
      expect(await player.count(), looked).toBe(1);
      const seconds = await player.evaluate(
        (audio: HTMLAudioElement) =>
          new Promise<number>((resolve, reject) => {
            audio.addEventListener('loadedmetadata', () => resolve(audio.duration));
            audio.addEventListener('error', () => reject(new Error(audio.error?.message ?? 'it does not play')));
            audio.preload = 'metadata';
            audio.load();
          }),
      );
      expect(seconds, looked).toBeCloseTo(0.1, 2);
      await page.reload();
      await page.locator('.prose', { hasText: 'Good evening.' }).waitFor();
    }
    expect(visit.complaints).toEqual([]);
  });
});
