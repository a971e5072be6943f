// SPDX-License-Identifier: Apache-2.0
// Public keys and signatures as Go's crypto/x509 reads and checks them, with its texts. OpenSSL does the arithmetic.
import { constants, createPublicKey, type KeyObject, type VerifyKeyObjectInput, verify } from "node:crypto";
import * as writer from "../der-writer.ts";
import { DerCursor } from "./der-cursor.ts";
import { bitsOf, type Decoded, DerError, decodeDer, type Shape } from "./der-shapes.ts";

export const raw: Shape = { is: "raw" };
export const oid: Shape = { is: "oid" };
export const int: Shape = { is: "int" };

export const algorithmIdentifier: Shape = {
  is: "struct",
  name: "AlgorithmIdentifier",
  fields: [{ shape: oid }, { shape: raw, isOptional: true }],
};

/** Throws the error of something that is wrong, as crypto/x509 says it. */
export function refuse(text: string): never {
  throw new DerError(`x509: ${text}`);
}

const ids = {
  rsa: "1.2.840.113549.1.1.1",
  dsa: "1.2.840.10040.4.1",
  ec: "1.2.840.10045.2.1",
  ed25519: "1.3.101.112",
  pss: "1.2.840.113549.1.1.10",
  mgf1: "1.2.840.113549.1.1.8",
};

const two = (exponent: number): bigint => 1n << BigInt(exponent);

/** The curves that Go knows, by identifier, with the prime of their field. */
const curves: Readonly<Record<string, { readonly name: string; readonly size: number; readonly prime: bigint }>> = {
  "1.3.132.0.33": { name: "P224", size: 28, prime: two(224) - two(96) + 1n },
  "1.2.840.10045.3.1.7": { name: "P256", size: 32, prime: two(256) - two(224) + two(192) + two(96) - 1n },
  "1.3.132.0.34": { name: "P384", size: 48, prime: two(384) - two(128) - two(96) + two(32) - 1n },
  "1.3.132.0.35": { name: "P521", size: 66, prime: two(521) - 1n },
};

type KeyKind = "RSA" | "DSA" | "ECDSA" | "Ed25519";

/** A public key. `problem` is what is found when a signature is checked with it. */
export interface PublicKey {
  readonly kind: KeyKind;
  /** Undefined when OpenSSL does not take it. */
  readonly key?: KeyObject | undefined;
  readonly problem?: string | undefined;
}

/** Reads a public key; undefined when Go does not know its algorithm. Throws a DerError. */
export function readPublicKey(algorithm: string, parameters: Uint8Array, data: Uint8Array): PublicKey | undefined {
  if (algorithm === ids.rsa) return rsaKey(parameters, data);
  if (algorithm === ids.ec) return ecKey(parameters, data);
  if (algorithm === ids.ed25519) return edKey(parameters, data);
  return algorithm === ids.dsa ? dsaKey(parameters, data) : undefined;
}

const isNull = (parameters: Uint8Array): boolean => Buffer.from(parameters).equals(Buffer.from([5, 0]));
const isPositive = (number: Uint8Array): boolean => (number[0] ?? 0) < 0x80 && number.some((byte) => byte !== 0);

function keyOf(algorithm: Uint8Array, data: Uint8Array): KeyObject | undefined {
  try {
    const key = writer.sequence(algorithm, writer.bitString(data));
    return createPublicKey({ key, format: "der", type: "spki" });
  } catch {
    return undefined;
  }
}

function rsaKey(parameters: Uint8Array, data: Uint8Array): PublicKey {
  if (!isNull(parameters)) refuse("RSA key missing NULL parameters");
  const numbers = new DerCursor(data).open(0x30) ?? refuse("invalid RSA public key");
  const modulus = numbers.integer() ?? refuse("invalid RSA modulus");
  const exponent = numbers.integer();
  if (exponent === undefined || exponent.length > 8) refuse("invalid RSA public exponent");
  if (!isPositive(modulus)) refuse("RSA modulus is not a positive number");
  if (!isPositive(exponent)) refuse("RSA public exponent is not a positive number");
  const algorithm = writer.sequence(writer.oid(ids.rsa), writer.nullValue());
  const digits = writer.sequence(writer.unsignedInteger(modulus), writer.unsignedInteger(exponent));
  return { kind: "RSA", key: keyOf(algorithm, digits), problem: rsaProblem(modulus, exponent) };
}

/** What Go finds wrong with a key before it looks at the signature. */
function rsaProblem(modulus: Uint8Array, exponent: Uint8Array): string | undefined {
  const hex = Buffer.from(modulus).toString("hex").replace(/^0+/, "");
  const bits = (hex.length - 1) * 4 + Number.parseInt(hex[0] ?? "0", 16).toString(2).length;
  const value = BigInt(`0x${Buffer.from(exponent).toString("hex")}`);
  const see = "(see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)";
  if (bits < 1024) return `crypto/rsa: ${bits}-bit keys are insecure ${see}`;
  if ((modulus.at(-1) ?? 0) % 2 === 0) return "crypto/rsa: public modulus is even";
  if (value < 2n) return "crypto/rsa: public exponent too small or negative";
  if (value % 2n === 0n) return "crypto/rsa: public exponent is even";
  return value > 0x7fffffffn ? "crypto/rsa: public exponent too large" : undefined;
}

function ecKey(parameters: Uint8Array, data: Uint8Array): PublicKey {
  const id = new DerCursor(parameters).oid() ?? refuse("invalid ECDSA parameters");
  const curve = curves[id] ?? refuse("unsupported elliptic curve");
  if (data[0] !== 4) throw new DerError("ecdsa: invalid uncompressed public key");
  if (data.length !== 1 + 2 * curve.size) throw new DerError(`invalid ${curve.name} point encoding`);
  const isTooLarge = (from: number): boolean =>
    BigInt(`0x${Buffer.from(data.subarray(from, from + curve.size)).toString("hex")}`) >= curve.prime;
  // Go has code of its own for this curve, and another text.
  const element = curve.name === "P256" ? "P256 element" : `${curve.name}Element`;
  if (isTooLarge(1) || isTooLarge(1 + curve.size)) throw new DerError(`invalid ${element} encoding`);
  const key = keyOf(writer.sequence(writer.oid(ids.ec), writer.oid(id)), data);
  if (key === undefined) throw new DerError(`${curve.name} point not on curve`);
  return { kind: "ECDSA", key };
}

function edKey(parameters: Uint8Array, data: Uint8Array): PublicKey {
  if (parameters.length > 0) refuse("Ed25519 key encoded with illegal parameters");
  if (data.length !== 32) refuse("wrong Ed25519 public key size");
  return { kind: "Ed25519", key: keyOf(writer.sequence(writer.oid(ids.ed25519)), data) };
}

function dsaKey(parameters: Uint8Array, data: Uint8Array): PublicKey {
  const own = new DerCursor(data).integer() ?? refuse("invalid DSA public key");
  const numbers = new DerCursor(parameters).open(0x30);
  const shared = [numbers?.integer(), numbers?.integer(), numbers?.integer()].map(
    (number) => number ?? refuse("invalid DSA parameters"),
  );
  if (![own, ...shared].every(isPositive)) refuse("zero or negative DSA parameter");
  return { kind: "DSA" };
}

interface SignatureAlgorithm {
  readonly kind: KeyKind;
  /** As Node names it; null where the key says it. */
  readonly hash: string | null;
  readonly saltLength?: number;
}

const signatures: Readonly<Record<string, SignatureAlgorithm>> = {
  "1.2.840.113549.1.1.4": { kind: "RSA", hash: "md5" },
  "1.2.840.113549.1.1.5": { kind: "RSA", hash: "sha1" },
  "1.3.14.3.2.29": { kind: "RSA", hash: "sha1" },
  "1.2.840.113549.1.1.11": { kind: "RSA", hash: "sha256" },
  "1.2.840.113549.1.1.12": { kind: "RSA", hash: "sha384" },
  "1.2.840.113549.1.1.13": { kind: "RSA", hash: "sha512" },
  "1.2.840.10040.4.3": { kind: "DSA", hash: "sha1" },
  "2.16.840.1.101.3.4.3.2": { kind: "DSA", hash: "sha256" },
  "1.2.840.10045.4.1": { kind: "ECDSA", hash: "sha1" },
  "1.2.840.10045.4.3.2": { kind: "ECDSA", hash: "sha256" },
  "1.2.840.10045.4.3.3": { kind: "ECDSA", hash: "sha384" },
  "1.2.840.10045.4.3.4": { kind: "ECDSA", hash: "sha512" },
  [ids.ed25519]: { kind: "Ed25519", hash: null },
};

/** RSA-PSS names its hash in its parameters, with a salt of the same length. */
const saltedHashes: Readonly<Record<string, SignatureAlgorithm>> = {
  "2.16.840.1.101.3.4.2.1": { kind: "RSA", hash: "sha256", saltLength: 32 },
  "2.16.840.1.101.3.4.2.2": { kind: "RSA", hash: "sha384", saltLength: 48 },
  "2.16.840.1.101.3.4.2.3": { kind: "RSA", hash: "sha512", saltLength: 64 },
};

const pssParameters: Shape = {
  is: "struct",
  name: "pssParameters",
  fields: [
    { shape: algorithmIdentifier, tag: 0, isExplicit: true },
    { shape: algorithmIdentifier, tag: 1, isExplicit: true },
    { shape: int, tag: 2, isExplicit: true },
    { shape: int, tag: 3, isExplicit: true, isOptional: true },
  ],
};

function signatureAlgorithm({ parts: [id, parameters] }: Decoded): SignatureAlgorithm | undefined {
  const given = parameters?.whole ?? new Uint8Array();
  if (id?.oid === ids.pss) return saltedAlgorithm(given);
  return id?.oid === ids.ed25519 && given.length > 0 ? undefined : signatures[id?.oid ?? ""];
}

function saltedAlgorithm(parameters: Uint8Array): SignatureAlgorithm | undefined {
  try {
    const [hash, mask, salt, trailer] = decodeDer(parameters, pssParameters).value.parts;
    const maskHash = decodeDer(mask?.parts[1]?.whole ?? new Uint8Array(), algorithmIdentifier).value;
    const hasParameters = ({ parts }: Decoded): boolean =>
      (parts[1]?.tag ?? -1) >= 0 && !isNull(parts[1]?.whole ?? new Uint8Array());
    const isUsual =
      hash !== undefined &&
      ![hash, maskHash].some(hasParameters) &&
      mask?.parts[0]?.oid === ids.mgf1 &&
      maskHash.parts[0]?.oid === hash.parts[0]?.oid &&
      (trailer === undefined || trailer.tag < 0 || (trailer.content.length === 1 && trailer.content[0] === 1));
    const found = isUsual ? saltedHashes[hash.parts[0]?.oid ?? ""] : undefined;
    return salt?.content.length === 1 && salt.content[0] === found?.saltLength ? found : undefined;
  } catch {
    return undefined;
  }
}

/** What was signed, with the identifier of the algorithm and the BIT STRING of the signature. */
interface Signed {
  readonly message: Uint8Array;
  readonly algorithm: Decoded;
  readonly signature: Decoded;
}

const goTypes = { RSA: "*rsa.PublicKey", ECDSA: "*ecdsa.PublicKey", Ed25519: "ed25519.PublicKey" };

/** Checks a signature. Throws a DerError. */
export function checkSignature(signed: Signed, key: PublicKey | undefined): void {
  const algorithm = signatureAlgorithm(signed.algorithm);
  if (algorithm === undefined) refuse("cannot verify signature: algorithm unimplemented");
  if (algorithm.hash === "md5") refuse("cannot verify signature: insecure algorithm MD5-RSA");
  if (key === undefined || key.kind === "DSA") refuse("cannot verify signature: algorithm unimplemented");
  if (key.kind !== algorithm.kind) {
    refuse(
      `signature algorithm specifies an ${algorithm.kind} public key, but have public key of type ${goTypes[key.kind]}`,
    );
  }
  if (key.problem !== undefined) throw new DerError(key.problem);
  if (isSigned(signed, algorithm, key.key)) return;
  if (key.kind === "RSA") throw new DerError("crypto/rsa: verification error");
  refuse(`${key.kind} verification failure`);
}

function isSigned(signed: Signed, { hash, saltLength }: SignatureAlgorithm, key: KeyObject | undefined): boolean {
  if (key === undefined) return false;
  const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
  const input = (saltLength === undefined ? { key } : { key, ...padding }) as VerifyKeyObjectInput;
  try {
    return verify(hash, signed.message, input, bitsOf(signed.signature.content));
  } catch {
    return false;
  }
}
