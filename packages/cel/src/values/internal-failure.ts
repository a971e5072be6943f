// SPDX-License-Identifier: Apache-2.0

/**
 * Ends an evaluation at a place where Kubernetes' own evaluator fails, for example because it cannot put bytes into a
 * set. Thrown, because no operator may absorb it.
 */
export class InternalFailure extends Error {
  constructor(message: string) {
    super(`internal error: ${message}`);
  }
}
