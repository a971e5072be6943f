// SPDX-License-Identifier: Apache-2.0

/** An answer of any shape: a case reads it member by member, the transcript compares it as a whole. */
// biome-ignore lint/suspicious/noExplicitAny: a type for every answer of a server would be the server's schema again
export type Loose = any;
