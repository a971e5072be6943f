// SPDX-License-Identifier: Apache-2.0

/** What the API server denied to the accounts of Providers: the conditions of their revisions show it. */
export interface DeniedRequests {
  /** Notes a request that was denied, and how to ask whether the user has the right meanwhile. */
  record(user: string, message: string, isAllowed: () => boolean): void;
  /** What was denied to an account and would be denied still, oldest first. */
  of(account: { readonly namespace: string; readonly name: string }): readonly string[];
  forget(account: { readonly namespace: string; readonly name: string }): void;
  /** Calls back with the name of an account when something else was denied to it than before; the result ends that. */
  onChange(listener: (account: string) => void): () => void;
}

/** The first few say what is missing; clients ask again and again. */
const maxMessages = 5;
const maxAccounts = 1000;
/** The Provider chooses the names in a message. */
const maxCharacters = 500;

/** Keeps the denied requests of the accounts of one namespace. */
export function createDeniedRequests(namespace: string): DeniedRequests {
  const prefix = userOf({ namespace, name: "" });
  const messages = new Map<string, Map<string, () => boolean>>();
  const listeners = new Set<(account: string) => void>();
  return {
    record(user, text, isAllowed) {
      if (!user.startsWith(prefix)) return;
      const message = shown(text);
      const known = messages.get(user) ?? new Map<string, () => boolean>();
      if (known.has(message) || known.size >= maxMessages || (known.size === 0 && messages.size >= maxAccounts)) return;
      messages.set(user, known.set(message, isAllowed));
      for (const listener of listeners) listener(user.slice(prefix.length));
    },
    of(account) {
      const known = messages.get(userOf(account));
      for (const [message, isAllowed] of known ?? []) if (isAllowed()) known?.delete(message);
      if (known?.size === 0) messages.delete(userOf(account));
      return [...(known?.keys() ?? [])];
    },
    forget(account) {
      messages.delete(userOf(account));
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** A message without control characters, which ends up in conditions and on terminals. */
function shown(text: string): string {
  const short = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
  return short.replaceAll(/\p{Cc}/gu, "\uFFFD");
}

function userOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `system:serviceaccount:${namespace}:${name}`;
}
