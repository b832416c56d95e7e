"""The same as hello.ts with nothing but Python: answers, plays a prompt, tells digits, hangs up on #."""
import base64, http.client, json, os, signal, socket, urllib.parse

url = urllib.parse.urlsplit(os.environ.get('HOOKSWITCH_URL', 'http://127.0.0.1:8088'))
signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C ends it without a traceback.
password = os.environ.get('HOOKSWITCH_PASSWORD', '')
login = 'Basic ' + base64.b64encode(f'hookswitch:{password}'.encode()).decode()


def ask(method, path):
    """One request; a channel may be gone by the time it comes (404)."""
    connection = http.client.HTTPConnection(url.hostname, url.port)
    connection.request(method, '/ari' + path, headers={'Authorization': login})
    answer = connection.getresponse()
    print(method, path, answer.status, flush=True)
    connection.close()


def events(app):
    """The events of an application, from a WebSocket (RFC 6455): each is one text frame of JSON."""
    stream = socket.create_connection((url.hostname, url.port)).makefile('rwb')
    key = base64.b64encode(os.urandom(16)).decode()
    stream.write((f'GET /ari/events?app={app} HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: {login}\r\n'
                  f'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
                  f'Sec-WebSocket-Key: {key}\r\n\r\n').encode())
    stream.flush()
    status = stream.readline().decode().strip()
    if ' 101 ' not in status:
        raise SystemExit(f'refused: {status}')
    while stream.readline() != b'\r\n':
        pass
    print('waiting for calls', flush=True)
    while head := stream.read(2):
        length = head[1] & 127
        if length > 125:
            length = int.from_bytes(stream.read(2 if length == 126 else 8), 'big')
        body = stream.read(length)
        if head[0] & 15 == 1:
            yield json.loads(body)
        elif head[0] & 15 == 9:  # A ping is answered with a pong, masked with zeros.
            stream.write(bytes([138, 128 | len(body)]) + bytes(4) + body)
            stream.flush()


for event in events('hello'):
    channel = event.get('channel', {}).get('id')
    if event['type'] == 'StasisStart':
        ask('POST', f'/channels/{channel}/answer')
        ask('POST', f'/channels/{channel}/play?media=sound:hello-world')
    elif event['type'] == 'ChannelDtmfReceived' and event['digit'] == '#':
        ask('DELETE', f'/channels/{channel}')
    elif event['type'] == 'StasisEnd':
        print(channel, 'has left', flush=True)
