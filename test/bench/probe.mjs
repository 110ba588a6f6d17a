import { Session } from 'node:inspector/promises';
import { writeFileSync } from 'node:fs';

/**
 * Loaded into the assistant by the bench, in runs of its own: counts what the program allocates between two signals and
 * writes the bytes into the file that `BENCH_ALLOCATED` names. A sample for every 32 KiB.
 */
const session = new Session();
session.connect();
let isCounting = false;

process.on('SIGUSR2', async () => {
  if (!isCounting) {
    isCounting = true;
    const counted = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    await session.post('HeapProfiler.startSampling', { samplingInterval: 32_768, ...counted });
    writeFileSync(process.env.BENCH_ALLOCATED, 'counting');
    return;
  }
  isCounting = false;
  const { profile } = await session.post('HeapProfiler.stopSampling');
  const bytes = (node) => node.children.reduce((sum, child) => sum + bytes(child), node.selfSize);
  writeFileSync(process.env.BENCH_ALLOCATED, String(bytes(profile.head)));
});
