// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects";
import type { TokenAuthenticator } from "../auth/authenticate.ts";
import { authenticated, type User } from "../auth/user.ts";
import { textAt } from "../builtin/read-field.ts";
import type { Review } from "./access-reviews.ts";

/** The reviews of the authentication group. */
export function authenticationReviews(tokens: () => readonly TokenAuthenticator[]): Readonly<Record<string, Review>> {
  return {
    selfsubjectreviews: (_review, user) => ({ userInfo: userInfo(user) }),
    tokenreviews: (review) => tokenStatus(textAt(review, "spec", "token"), tokens()),
  };
}

function tokenStatus(token: string, authenticators: readonly TokenAuthenticator[]): JsonObject {
  for (const authenticate of authenticators) {
    const user = token === "" ? undefined : authenticate(token);
    if (user !== undefined) {
      return {
        authenticated: true,
        user: userInfo(authenticated(user)),
        audiences: ["https://kubernetes.default.svc"],
      };
    }
  }
  return { user: {}, error: "invalid bearer token" };
}

function userInfo({ name, uid, groups, extra }: User): JsonObject {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups: [...groups],
    ...(extra === undefined ? {} : { extra: extra as unknown as JsonValue }),
  };
}
