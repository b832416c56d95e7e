import { type Access, accessOf } from './access/access.ts';
import { createAsyncApi } from './api-docs/asyncapi.ts';
import { createOpenApi } from './api-docs/openapi.ts';
import { createSwagger } from './api-docs/swagger.ts';
import type { Deps } from './deps.ts';
import type { Api } from './operation.ts';
import type { HttpUser } from './user.ts';

/** The documents of the ARI. Each is given the `Host` that was asked, so that its addresses lead back here. */
interface ApiDocs {
  /** Swagger 1.2: `resources.json` or a resource's file; undefined for any other name. */
  swagger(file: string, host?: string): object | undefined;
  openApi(host?: string): object;
  asyncApi(host?: string): object;
}

/** The API with the operations whose owner exists and that the user may use. */
export const present = (api: Api, owners: Deps, mayDo: Access['mayDo'] = () => true): Api => ({
  ...api,
  resources: api.resources.map((resource) => ({
    ...resource,
    operations: resource.operations.filter((each) => owners[each.owner] !== undefined && mayDo(each)),
  })),
});

/**
 * Documents of the operations that a user may use: made on first use, once for users with all rights and once for each
 * other user.
 */
export function perUser<T>(make: (mayDo?: Access['mayDo']) => T): (user: HttpUser) => T {
  let ofAll: T | undefined;
  const own = new WeakMap<HttpUser, T>();
  return (user) => {
    const { scope, mayDo } = accessOf(user);
    if (!scope && !user.read_only) {
      ofAll ??= make();
      return ofAll;
    }
    const made = own.get(user) ?? make(mayDo);
    own.set(user, made);
    return made;
  };
}

/** Creates the documents of the served ARI once; a request only writes them. */
export function createApiDocs(ari: Api, owners: Deps, mayDo?: Access['mayDo']): ApiDocs {
  const served = present(ari, owners, mayDo);
  return {
    swagger: createSwagger(served),
    openApi: createOpenApi(served),
    asyncApi: createAsyncApi(served.version),
  };
}
