// SPDX-License-Identifier: Apache-2.0
// Users whose client certificates are refused: a file in the data directory, beside the key that signs certificates.
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type CertificateSubject, mastersGroup } from "./user.ts";

/** No certificate that was issued for another person is valid for longer. */
const longestMs = 366 * 86_400_000;

const fileIn = (directory: string): string => join(directory, "pki", "revoked.json");

/** The certificates of a user that are valid from before this time are refused; undefined when none are. */
export function revokedBefore(directory: string, user: string): Date | undefined {
  const time = readRevoked(fileIn(directory))[user];
  return typeof time === "string" ? new Date(time) : undefined;
}

/**
 * Refuses all certificates of a user that were issued until now. Certificates have times in whole seconds, and are valid from some minutes
 * before they are issued: those that are issued afterwards are valid from this time on.
 */
export function revokeUser(directory: string, user: string, now: Date = new Date()): void {
  const file = fileIn(directory);
  const isInUse = ([, time]: readonly [string, unknown]): boolean =>
    now.getTime() - Date.parse(String(time)) < longestMs;
  const others = Object.entries(readRevoked(file)).filter(isInUse);
  const last = revokedBefore(directory, user)?.getTime() ?? 0;
  const time = Math.max(Math.floor(now.getTime() / 1000) * 1000, last + 1000);
  const text = `${JSON.stringify({ ...Object.fromEntries(others), [user]: new Date(time).toISOString() }, undefined, 2)}\n`;
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  writeFileSync(partial, text, { mode: 0o600, flag: "wx" });
  renameSync(partial, file);
}

function readRevoked(file: string): JsonObject {
  const text = readIfExists(file);
  if (text === undefined) return {};
  try {
    const read: unknown = JSON.parse(text);
    if (isJsonObject(read)) return read;
  } catch {
    // Reported below: the reason of the parser would show a part of the file.
  }
  throw new Error(
    `${file} is not a JSON object of users and times: restore it, or delete it to accept all certificates`,
  );
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Whether the certificate of a request is revoked. A change of the file counts with the next request. Administrators cannot be revoked:
 * their certificate is in the same folder.
 */
export function createRevocationCheck(directory: string): (certificate: CertificateSubject) => boolean {
  const file = fileIn(directory);
  let known = "";
  let revoked: JsonObject = {};
  return ({ commonName, organizations, validFrom }) => {
    if (organizations.includes(mastersGroup)) return false;
    const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
    const version = stat === undefined ? "" : `${stat.ino}/${stat.mtimeNs}/${stat.size}`;
    if (version !== known) revoked = readRevoked(file);
    known = version;
    const time = revoked[commonName];
    return typeof time === "string" && !(validFrom >= Date.parse(time));
  };
}
