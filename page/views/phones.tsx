import { useMemo, useState } from 'preact/hooks';
import qrcode from 'qrcode-generator';
import type { SnapshotImage } from '../../src/actors/step.ts';
import type { ContactView } from '../../src/models/contact.ts';
import type { Endpoint } from '../../src/models/endpoint.ts';
import type { Registration, RegistrationView } from '../../src/models/registration.ts';
import type { ServerInfo } from '../../src/models/server-info.ts';
import { useCell } from '../core/cell.ts';
import { to } from '../core/route.ts';
import { ask, may, session } from '../core/session.ts';
import { plural, stateNames } from '../core/words.ts';
import { Empty, Panel, Pill, reasonOf, useAsked } from '../parts/bits.tsx';
import { LiveChart } from '../parts/chart.tsx';

export function Phones({ name }: { name: string | undefined }) {
  const who = useCell(session);
  const { value: listed, again } = useAsked<Endpoint[]>('/ari/endpoints', 2_000);
  const endpoints = listed ?? [];
  const { value: contacts = [] } = useAsked<ContactView[]>('/hookswitch/contacts', 2_000);
  const { value: registrations = [] } = useAsked<RegistrationView[]>('/hookswitch/registrations', 2_000);
  const { value: server } = useAsked<ServerInfo>('/hookswitch/server');
  const [made, setMade] = useState<Account>();
  const shown = endpoints.find(({ technology, resource }) => `${technology}/${resource}` === name);
  const of = ({ technology, resource }: Endpoint) =>
    contacts.filter(({ endpoint }) => endpoint === `${technology}/${resource}`);
  return (
    <>
      <h1>Phones</h1>
      <div class="columns phones">
        <Panel title="Endpoints" extra={<span class="quiet">{endpoints.length}</span>}>
          {endpoints.length === 0 ? <Empty>No phones yet. Create one here.</Empty> : null}
          <ul class="items">
            {endpoints.map((endpoint) => {
              const full = `${endpoint.technology}/${endpoint.resource}`;
              return (
                <li key={full}>
                  <a class="row item" href={to('phones', full)} aria-current={full === name ? 'true' : undefined}>
                    <Pill state={endpoint.state ?? 'unknown'} />
                    <b>{endpoint.resource}</b>
                    <span class="quiet">{endpoint.technology}</span>
                    <span class="grow" />
                    <span class="quiet">
                      {of(endpoint).length === 0 ? 'no contact' : plural(of(endpoint).length, 'contact')}
                    </span>
                    {endpoint.channel_ids.length > 0 ? (
                      <Pill state={plural(endpoint.channel_ids.length, 'call')} tone="good" />
                    ) : null}
                  </a>
                </li>
              );
            })}
          </ul>
        </Panel>
        <div>
          {shown ? (
            <OneEndpoint
              endpoint={shown}
              contacts={of(shown)}
              registrations={registrations.filter(({ endpoint }) => endpoint === name)}
            />
          ) : null}
          {listed && name !== undefined && !shown ? <Empty>There is no endpoint {name}.</Empty> : null}
          {who?.read_only || !may('asterisk:updateObject') ? null : (
            <MakePhone
              server={server}
              onMade={(account) => {
                setMade(account);
                again();
              }}
            />
          )}
          {made ? <AccountCard account={made} /> : null}
        </div>
      </div>
    </>
  );
}

/** A contact or registration as the charts show objects: its deadlines. What its guards read is not there. */
const imageOf = ({ state, deadlines }: Pick<ContactView, 'state' | 'deadlines'>): SnapshotImage => ({
  ...{ status: 'active', value: state },
  context: { deadlines: deadlines.map(({ event, at }) => ({ at, event: { type: event } })) },
});

/** A registration at a provider, with its chart where the user may see that. */
function OneRegistration({ registration, view }: { registration: Registration; view: RegistrationView | undefined }) {
  const { server, client, status, reason } = view ?? registration;
  return (
    <div class="contact">
      <p class="row wraps">
        <Pill
          state={status}
          tone={status === 'Registered' ? 'good' : status === 'Rejected' || reason ? 'bad' : 'warn'}
        />
        <code>{client}</code>
        <span class="quiet">
          at {server}
          {reason ? `: ${reason}` : ''}
        </span>
      </p>
      {view ? (
        <LiveChart
          name="registration"
          label="Registration at the provider"
          states={[view.state]}
          image={imageOf(view)}
        />
      ) : null}
    </div>
  );
}

type OneEndpointProps = {
  endpoint: Endpoint;
  contacts: readonly ContactView[];
  registrations: readonly RegistrationView[];
};

function OneEndpoint({ endpoint, contacts, registrations }: OneEndpointProps) {
  return (
    <Panel title={`${endpoint.technology}/${endpoint.resource}`} extra={<Pill state={endpoint.state ?? 'unknown'} />}>
      {endpoint.channel_ids.length > 0 ? (
        <p>
          In a call:{' '}
          {endpoint.channel_ids.map((id) => (
            <a key={id} href={to('calls', id)}>
              {id}{' '}
            </a>
          ))}
        </p>
      ) : null}
      {endpoint.registrations?.map((registration) => (
        <OneRegistration
          key={`${registration.server} ${registration.client}`}
          registration={registration}
          view={registrations.find(
            ({ server, client }) => server === registration.server && client === registration.client,
          )}
        />
      ))}
      {contacts.length === 0 && !endpoint.registrations ? (
        <Empty>Not registered: the phone cannot be called.</Empty>
      ) : null}
      {contacts.map((contact) => {
        const states = stateNames(contact.state);
        return (
          <div key={contact.uri} class="contact">
            <div class="row">
              <Pill state={contact.contact_status} />
              <code>{contact.uri}</code>
              <span class="grow" />
              {contact.roundtrip_usec ? (
                <span class="quiet">{(Number(contact.roundtrip_usec) / 1000).toFixed(1)} ms</span>
              ) : null}
            </div>
            <LiveChart name="contact" label="Registration and qualification" states={states} image={imageOf(contact)} />
          </div>
        );
      })}
    </Panel>
  );
}

/** Settings for a softphone. */
type Account = { name: string; password: string; host: string; port: string; transport: string };

const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
const newPassword = (): string => {
  // Values that would favour some letters are left out.
  const most = 256 - (256 % alphabet.length);
  const letters: string[] = [];
  while (letters.length < 20)
    for (const byte of crypto.getRandomValues(new Uint8Array(32)))
      if (byte < most && letters.length < 20) letters.push(alphabet[byte % alphabet.length] ?? '');
  return letters.join('');
};

const fields = (values: Record<string, string>) => ({
  fields: Object.entries(values).map(([attribute, value]) => ({ attribute, value })),
});

function MakePhone({ server, onMade }: { server: ServerInfo | undefined; onMade(account: Account): void }) {
  const [name, setName] = useState('');
  const [context, setContext] = useState('default');
  const [problem, setProblem] = useState<string>();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setProblem(undefined);
    const password = newPassword();
    const at = (type: string) => `/ari/asterisk/config/dynamic/res_pjsip/${type}/${encodeURIComponent(name)}`;
    try {
      await ask('PUT', at('auth'), fields({ auth_type: 'userpass', username: name, password }));
      await ask('PUT', at('aor'), fields({ max_contacts: '1' }));
      await ask('PUT', at('endpoint'), fields({ auth: name, aors: name, context, allow: '!all,opus,g722,ulaw,alaw' }));
      const udp = server?.sip.find(({ protocol }) => protocol === 'udp') ?? server?.sip[0];
      const anywhere = !udp || udp.host === '0.0.0.0' || udp.host === '::';
      onMade({
        name,
        password,
        host: anywhere ? location.hostname : udp.host,
        port: String(udp?.port ?? 5060),
        transport: udp?.protocol ?? 'udp',
      });
      setName('');
    } catch (error) {
      setProblem(reasonOf(error));
    }
  };
  return (
    <Panel title="Create a phone">
      <form class="fields" onSubmit={(event) => void submit(event)}>
        <label>
          Name
          <input
            required
            pattern="[A-Za-z0-9_.\-]+"
            value={name}
            placeholder="alice"
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label>
          Context
          <input required value={context} onInput={(event) => setContext(event.currentTarget.value)} />
        </label>
        <button type="submit" class="primary small">
          Create
        </button>
      </form>
      <p class="told bad" role="alert">
        {problem}
      </p>
    </Panel>
  );
}

/** A QR code as the path of its dark squares. */
function QrCode({ text }: { text: string }) {
  const { size, path } = useMemo(() => {
    const code = qrcode(0, 'M');
    code.addData(text);
    code.make();
    const count = code.getModuleCount();
    let drawn = '';
    for (let row = 0; row < count; row++)
      for (let column = 0; column < count; column++) if (code.isDark(row, column)) drawn += `M${column} ${row}h1v1h-1z`;
    return { size: count, path: drawn };
  }, [text]);
  return (
    <svg
      class="qr"
      viewBox={`-3 -3 ${size + 6} ${size + 6}`}
      role="img"
      aria-label="The account as a QR code"
      shape-rendering="crispEdges"
    >
      <rect x="-3" y="-3" width={size + 6} height={size + 6} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

function AccountCard({ account }: { account: Account }) {
  const { name, password, host, port, transport } = account;
  const uri = `sip:${encodeURIComponent(name)}:${encodeURIComponent(password)}@${host}:${port};transport=${transport}`;
  const rows: [string, string][] = [
    ['User name', name],
    ['Password', password],
    ['Server', `${host}:${port}`],
    ['Transport', transport.toUpperCase()],
    ['SIP address', `sip:${name}@${host}:${port}`],
  ];
  return (
    <Panel title={`Settings for the softphone of ${name}`}>
      <div class="account">
        <dl class="pairs">
          {rows.map(([term, value]) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd>
                <code>{value}</code>
              </dd>
            </div>
          ))}
        </dl>
        <QrCode text={uri} />
      </div>
      <p class="quiet">The password is shown only now.</p>
    </Panel>
  );
}
