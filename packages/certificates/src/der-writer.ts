// SPDX-License-Identifier: Apache-2.0
/** The universal DER tags an X.509 certificate needs. */
export const derTags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** One tag, its length and its content. */
export function tlv(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body), body]);
}

export function sequence(...content: readonly Uint8Array[]): Buffer {
  return tlv(derTags.sequence, ...content);
}

export function setOfOne(content: Uint8Array): Buffer {
  return tlv(derTags.set, content);
}

/** `[number] EXPLICIT`, or `[number] IMPLICIT` around a constructed type. */
export function contextConstructed(number: number, ...content: readonly Uint8Array[]): Buffer {
  return tlv(0xa0 | number, ...content);
}

/** `[number] IMPLICIT` around a primitive type. */
export function contextPrimitive(number: number, content: Uint8Array): Buffer {
  return tlv(0x80 | number, content);
}

/** A non-negative INTEGER from big-endian bytes, in the fewest bytes DER allows. */
export function unsignedInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first));
  // A leading 1 bit would make the number negative.
  const negative = ((digits[0] ?? 0) & 0x80) !== 0;
  return tlv(derTags.integer, negative ? Buffer.concat([Buffer.from([0]), digits]) : digits);
}

export function smallInteger(value: number): Buffer {
  return unsignedInteger(
    Buffer.from([(value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff]),
  );
}

export function booleanTrue(): Buffer {
  return tlv(derTags.boolean, Buffer.from([0xff]));
}

export function nullValue(): Buffer {
  return tlv(derTags.null);
}

export function octetString(content: Uint8Array): Buffer {
  return tlv(derTags.octetString, content);
}

export function utf8String(text: string): Buffer {
  return tlv(derTags.utf8String, Buffer.from(text, "utf8"));
}

/** A BIT STRING whose bits fill whole bytes: a signature or a key. */
export function bitString(content: Uint8Array): Buffer {
  return tlv(derTags.bitString, Buffer.from([0]), content);
}

/** A named bit list (KeyUsage): DER drops trailing zero bits. */
export function namedBits(bits: readonly number[]): Buffer {
  const highest = Math.max(...bits);
  const bytes = Buffer.alloc((highest >> 3) + 1);
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return tlv(derTags.bitString, Buffer.from([7 - (highest & 7)]), bytes);
}

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return tlv(derTags.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** UTCTime until 2049 and GeneralizedTime from 2050 on, as RFC 5280 §4.1.2.5 demands; whole seconds. */
export function time(date: Date): Buffer {
  const year = date.getUTCFullYear();
  if (Number.isNaN(year) || year < 0 || year > 9999) {
    throw new RangeError(`cannot write the date ${String(date)} into a certificate: the year must lie in 0..9999`);
  }
  const digits = date.toISOString().slice(0, 19).replace(/[-:T]/g, "");
  const short = year >= 1950 && year < 2050;
  return short
    ? tlv(derTags.utcTime, Buffer.from(`${digits.slice(2)}Z`, "latin1"))
    : tlv(derTags.generalizedTime, Buffer.from(`${digits}Z`, "latin1"));
}

function lengthOf(body: Uint8Array): Buffer {
  if (body.length < 0x80) return Buffer.from([body.length]);
  const bytes: number[] = [];
  for (let rest = body.length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(arc: number): number[] {
  const bytes = [arc % 128];
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128));
  return bytes;
}

type Name =
  | "commonName"
  | "country"
  | "locality"
  | "province"
  | "organization"
  | "subjectKeyIdentifier"
  | "keyUsage"
  | "subjectAltName"
  | "basicConstraints"
  | "authorityKeyIdentifier"
  | "extKeyUsage"
  | "serverAuth"
  | "clientAuth"
  | "ecdsaWithSha256"
  | "rsaWithSha256";

/** Object identifiers, already encoded. */
export const objectIds: Readonly<Record<Name, Uint8Array>> = {
  commonName: oid("2.5.4.3"),
  country: oid("2.5.4.6"),
  locality: oid("2.5.4.7"),
  province: oid("2.5.4.8"),
  organization: oid("2.5.4.10"),
  subjectKeyIdentifier: oid("2.5.29.14"),
  keyUsage: oid("2.5.29.15"),
  subjectAltName: oid("2.5.29.17"),
  basicConstraints: oid("2.5.29.19"),
  authorityKeyIdentifier: oid("2.5.29.35"),
  extKeyUsage: oid("2.5.29.37"),
  serverAuth: oid("1.3.6.1.5.5.7.3.1"),
  clientAuth: oid("1.3.6.1.5.5.7.3.2"),
  ecdsaWithSha256: oid("1.2.840.10045.4.3.2"),
  rsaWithSha256: oid("1.2.840.113549.1.1.11"),
};
