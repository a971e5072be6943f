// SPDX-License-Identifier: Apache-2.0
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRegistryHttp } from "../client/registry-http.ts";

/** The user name that goes with the token of a registry. */
export const registryUser = "purlin";

/** What a client asks the registry to prove, and the answer. */
const challengeHeader = "purlin-registry-challenge";
const proofHeader = "purlin-registry-proof";
const maxChallenge = 128;

/** Whether a request carries the token, as the password of a user or as a bearer. Takes as long for every wrong token. */
export function isAuthorized({ headers }: Pick<IncomingMessage, "headers">, token: string): boolean {
  const [, scheme = "", value = ""] = /^(basic|bearer) +([^ ]+) *$/i.exec(headers.authorization ?? "") ?? [];
  const given = scheme.toLowerCase() === "basic" ? passwordOf(value) : value;
  return timingSafeEqual(sumOf(given), sumOf(token));
}

function passwordOf(value: string): string {
  const [user = "", ...password] = Buffer.from(value, "base64").toString("utf8").split(":");
  return user === registryUser ? password.join(":") : "";
}

const sumOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/**
 * Puts the headers of a 401 into an answer. A client that wants to know whether this is the registry its token is for, and not another
 * program on its port, sends a challenge and gets the proof.
 */
export function challenge(request: IncomingMessage, response: ServerResponse, token: string): void {
  response.setHeader("www-authenticate", 'Basic realm="purlin registry", charset="UTF-8"');
  const asked = request.headers[challengeHeader];
  const { localAddress = "", localPort = 0 } = request.socket;
  if (typeof asked !== "string" || asked.length > maxChallenge) return;
  response.setHeader(proofHeader, proofOf(token, `${localAddress}:${localPort}`, asked));
}

/** Bound to the address: a program on another port cannot pass on the proof of the registry. */
function proofOf(token: string, address: string, asked: string): string {
  return createHmac("sha256", token).update(`purlin registry ${address} ${asked}`).digest("hex");
}

/** Whether the registry at an address on loopback has a token. The token itself is not sent. */
export async function provesToken(address: string, token: string, asked: string): Promise<boolean> {
  try {
    const url = new URL(`http://${address}/v2/`);
    const { headers, body } = await createRegistryHttp()({ method: "GET", url, headers: { [challengeHeader]: asked } });
    body.destroy();
    const proof = headers[proofHeader];
    return typeof proof === "string" && timingSafeEqual(sumOf(proof), sumOf(proofOf(token, address, asked)));
  } catch {
    // Unreachable, or another protocol.
    return false;
  }
}
