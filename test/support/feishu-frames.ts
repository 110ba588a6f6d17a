/** A frame of Feishu's long connection: a protobuf message of proto2 whose fields 1 to 4 are required. */
export interface FeishuFrame {
  /** 0: control (ping, pong), 1: data. */
  readonly method: number;
  readonly service: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer;
}

const VARINT = 0;
const BYTES = 2;

export function writeFrame({ method, service, headers, payload }: FeishuFrame): Buffer {
  const pairs = Object.entries(headers).map(([key, value]) =>
    bytesField(5, Buffer.concat([bytesField(1, Buffer.from(key)), bytesField(2, Buffer.from(value))])),
  );
  const numbers = [1, 0, service, method].map((value, n) => Buffer.from([((n + 1) << 3) | VARINT, ...varint(value)]));
  return Buffer.concat([...numbers, ...pairs, bytesField(8, payload)]);
}

export function readFrame(bytes: Buffer): FeishuFrame {
  const headers: Record<string, string> = {};
  let [method, service, payload]: [number, number, Buffer] = [-1, -1, Buffer.alloc(0)];
  for (const { field, value } of fieldsOf(bytes)) {
    if (field === 3 && typeof value === 'number') service = value;
    else if (field === 4 && typeof value === 'number') method = value;
    else if (field === 5 && typeof value !== 'number') {
      const pair = fieldsOf(value).map((inner) => String(inner.value));
      headers[pair[0] ?? ''] = pair[1] ?? '';
    } else if (field === 8 && typeof value !== 'number') payload = value;
  }
  return { method, service, headers, payload };
}

function fieldsOf(bytes: Buffer): readonly { readonly field: number; readonly value: number | Buffer }[] {
  const fields: { field: number; value: number | Buffer }[] = [];
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = next();
    const value = next();
    if ((tag & 7) === VARINT) fields.push({ field: tag >> 3, value });
    else if ((tag & 7) === BYTES) {
      fields.push({ field: tag >> 3, value: bytes.subarray(at, at + value) });
      at += value;
    } else throw new Error(`a frame has a field of the type ${tag & 7}`);
  }
  return fields;
}

function bytesField(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(field << 3) | BYTES, ...varint(bytes.length)]), bytes]);
}

function varint(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 0x80))];
}
