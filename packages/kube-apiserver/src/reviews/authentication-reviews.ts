// SPDX-License-Identifier: Apache-2.0
import { timestamp } from "@purlin/kube-objects/apply";
import type { JsonObject } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import type { TokenAuthenticator } from "../auth/authenticate.ts";
import { authenticated, type User } from "../auth/user.ts";
import { type Review, withStatus } from "./review-resource.ts";

/** The reviews of the authentication group. */
export function authenticationReviews(tokens: () => readonly TokenAuthenticator[]): Readonly<Record<string, Review>> {
  return {
    selfsubjectreviews: ({ review, user, now }) => ({
      ...review,
      metadata: { creationTimestamp: timestamp(now) },
      status: { userInfo: userInfo(user) },
    }),
    tokenreviews: (question) =>
      withStatus(question, tokenStatus(stringAt(question.review, ["spec", "token"]), tokens())),
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
    ...(extra === undefined ? {} : { extra: extra }),
  };
}
