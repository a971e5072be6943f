// SPDX-License-Identifier: Apache-2.0

/** A stream that ended before it was complete. Its client must not mistake it for a complete one. */
export class StreamAborted extends Error {}
