import { checkRecording } from '../support/schema-check.ts';

/**
 * `node test/scripts/check-schemas.ts <schemas folder> <recording.jsonl>`: cross-checks the requests of a recorded
 * test run (`ASSISTANT_TEST_RECORD=<absolute path> npm test`) with the official schemas. Exit code 1 on a difference.
 */
const [schemaFolder, recording] = process.argv.slice(2);
if (schemaFolder === undefined || recording === undefined) {
  console.error('Give the folder of the official schemas and the recording: check-schemas.ts <folder> <file.jsonl>');
  process.exitCode = 64;
} else {
  const { counts, differences } = await checkRecording(schemaFolder, recording);
  for (const [api, count] of Object.entries(counts)) {
    console.log(`${api}: ${count.requests} requests, ${count.illegal} of them refused by our validator`);
  }
  for (const difference of differences) console.log(`difference: ${difference}`);
  console.log(`differences: ${differences.length}`);
  const total = Object.values(counts).reduce((sum, { requests }) => sum + requests, 0);
  if (total === 0) console.error('The recording holds no request: nothing was checked.');
  if (differences.length > 0 || total === 0) process.exitCode = 1;
}
