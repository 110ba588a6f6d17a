/** Whether an address is on this machine or in a private network. */
export function isLocalAddress(baseUrl: string | null): boolean {
  const host = (baseUrl === null ? null : URL.parse(baseUrl))?.hostname ?? '';
  return LOCAL_NAME.test(host) || PRIVATE_V4.test(host) || PRIVATE_V6.test(host);
}

const LOCAL_NAME = /^(?:localhost|host\.docker\.internal|[^.:]+|[^:]+\.(?:local|lan|home\.arpa|internal|localhost))$/u;
const PRIVATE_V4 =
  /^(?:127|10)\.\d+\.\d+\.\d+$|^192\.168\.\d+\.\d+$|^172\.(?:1[6-9]|2\d|3[01])\.\d+\.\d+$|^169\.254\.\d+\.\d+$|^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+$/u;
const PRIVATE_V6 = /^\[(?:::1|::ffff:7f.*|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)\]$/u;
