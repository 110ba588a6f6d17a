import { homeOutageSuite } from '../support/home-outage-suite.ts';

homeOutageSuite({ sideBySide: true, downMs: 12_000, leaseSeconds: 10, people: 1, everyMs: 1_000 }, [
  ['ended', 'two gateways of one home'],
  ['frozen', 'two machines of four homes'],
  ['cut', 'two gateways of one home'],
]);
