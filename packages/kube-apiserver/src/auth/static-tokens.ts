// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import type { TokenAuthenticator } from "./authenticate.ts";
import type { User } from "./user.ts";

/** Knows the bearers of fixed tokens. Looks them up by digest, so the time it takes tells nothing about a token. */
export function staticTokens(users: ReadonlyMap<string, User>): TokenAuthenticator {
  const byDigest = new Map([...users].map(([token, user]) => [digest(token), user]));
  return (token) => byDigest.get(digest(token));
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
