"""Texts and names of files with made-up secrets, composed anew for each seed.

A form is a carrier (a sentence of one of eighteen languages, a structure, a command, an address, a header, an
encoding, a provider's token, a private key, a name of a file) with a thing, a user, the spelling of a name
and a kind of value, all drawn. So another seed gives texts that no rule was tuned on, though of carriers that
may have been. Seeded; nothing here is real.
"""

from __future__ import annotations

import base64
import json
import quopri
import random
import string
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from helpers.secret_forms import Written

_LETTERS = string.ascii_letters
_ALNUM = _LETTERS + string.digits
_WORDS = ("otter", "maple", "copper", "violet", "tunnel", "harbor", "pepper", "walnut", "silver", "rocket")
_THINGS = (
    "wiki", "vpn", "router", "grafana", "staging database", "nas", "printer", "build server", "mail relay",
    "backup host", "registry", "jenkins", "ldap", "redis cache", "guest wifi", "admin panel", "camera",
)  # fmt: skip
_USERS = ("ada", "ben", "root", "deploy", "svc-mail", "admin", "ci", "postgres")
_NOUNS = ("password", "passwd", "secret", "pass", "pwd", "passphrase")

Made = tuple[str, tuple[str, ...]]
"""A text and the secrets in it."""
Carrier = Callable[[random.Random], Made]


def _drawn(rng: random.Random, alphabet: str, least: int, most: int) -> str:
    return "".join(rng.choices(alphabet, k=rng.randint(least, most)))


def _password(rng: random.Random) -> str:
    """A generated password, or one as people choose them; never a word alone."""
    kind = rng.randrange(6)
    if kind == 0:
        return _drawn(rng, _LETTERS, 14, 18)
    if kind == 1:
        return _drawn(rng, _ALNUM, 12, 20)
    if kind == 2:
        return _drawn(rng, string.ascii_lowercase + string.digits, 12, 16)
    if kind == 3:
        inner = _drawn(rng, _ALNUM + "!$^*-_=+", 11, 16)
        return rng.choice(_LETTERS) + inner + rng.choice(_ALNUM)
    word = rng.choice(_WORDS)
    if kind == 4:
        return f"{word.title()}{rng.randint(100, 9999)}{rng.choice('!*+')}{rng.choice('abcxyz')}"
    return f"{word}-{rng.choice(_WORDS)}-{_drawn(rng, _ALNUM, 6, 8)}{rng.randrange(10, 99)}"


def _plain(rng: random.Random) -> str:
    """A password of letters and digits, as addresses and names of files hold them unescaped."""
    return _drawn(rng, _ALNUM, 13, 18)


def _key(rng: random.Random) -> str:
    return rng.choice((_drawn(rng, _ALNUM, 32, 44), _drawn(rng, "0123456789abcdef", 40, 40)))


def _name(rng: random.Random) -> str:
    """The name of a setting that holds a password, in one of five spellings."""
    words = [*rng.choice(_THINGS).split(), rng.choice(_NOUNS)]
    if rng.random() < 0.3:
        words.insert(0, rng.choice(("prod", "app", "main")))
    spelling = rng.randrange(5)
    if spelling == 0:
        return "_".join(words)
    if spelling == 1:
        return "_".join(words).upper()
    if spelling == 2:
        return words[0] + "".join(map(str.title, words[1:]))
    return ("-" if spelling == 3 else ".").join(words)


_SENTENCES: Mapping[str, str] = {
    "en": """The {t} password was reset, the new one is {p}.
        If the {t} asks, type {p} as the password.
        Somebody changed the password of the {t} to {p} last night.
        {p} unlocks the {t}, it is the admin password.
        New password for {u} on the {t}: {p}
        Remember: {t} = user {u}, password {p}
        you need the {t} password? it's {p}
        I logged in to the {t} with {u} and the password {p}.
        The {t} still uses the old password ({p}), please rotate.
        Password for the {t} (user {u}) – {p}
        Passwords: {t} {p}, spare box {q}.
        my login for the {t} is {u}, password {p}
        We agreed on {p} as the passphrase of the {t}.
        Yesterday we had to pick a new password for the {t}; it ended up being {p}.
        {u} told me the {t} password over the phone: {p}
        Don't forget: password on the {t} is now {p}, was {q} before.
        The credentials are {u} / {p} for the {t}.
        To open the {t} enter {u} and then {p} (that is the password).
        For {t}: username is {u}; password is {p}; port is 22.
        Set {p} as password on {t} after the reinstall.
        They gave us {p} as a temporary password for the {t}.
        Password hint for {t}: none. Password: {p}.
        I keep forgetting the passphrase for the {t} key: {p}
        The API key for the {t} is {k}, valid until June.
        Use this token for the {t}: {k}
        {k} is the key we use for {t}.
        The {t} secret was leaked so we rotated it to {k}.
        Wi-Fi in the office: network Depot, password {p}
        Try logging into {t} as {u} with {p}, that password worked for me.""",
    "de": """Das Passwort für {t} wurde geändert und heißt jetzt {p}.
        Zum Anmelden bei {t} nimmst du {u} mit dem Kennwort {p}.
        Neues Kennwort von {t}: {p}
        {t}-Passwort: {p} (bitte nicht weitergeben)
        Wenn {t} fragt, gib als Passwort {p} ein.
        Das Passwort "{p}" gilt nur für {t}.
        Die Zugangsdaten für {t}: Benutzer {u}, Passwort {p}
        Das neue Kennwort lautet ab sofort {p}.
        Bitte {p} als Passwort für {t} eintragen.
        Passwort vergessen? Für {t} gilt {p}.
        Der API-Schlüssel von {t} ist {k}.""",
    "fr": """Le nouveau mot de passe de {t} est {p}.
        Pour {t}, connecte-toi avec {u} et le mot de passe {p}.
        Mot de passe {t} : {p}
        On a remplacé le mot de passe de {t} par {p}.
        Le mot de passe admin de {t} a été changé, c'est maintenant {p}.
        Identifiants {t} : {u} / {p}
        La clé API de {t} est {k}.
        Utilise {p} comme mot de passe pour {t}.""",
    "es": """La nueva contraseña de {t} es {p}.
        Entra en {t} con el usuario {u} y la contraseña {p}.
        Contraseña de {t}: {p}
        Hemos puesto {p} como contraseña de {t}.
        La clave de {t} ahora es {p}, no la compartas.
        Credenciales de {t}: usuario {u}, contraseña {p}
        El token de {t} es {k}.""",
    "it": """La nuova password di {t} è {p}.
        Per {t} usa l'utente {u} e la password {p}.
        Password di {t}: {p}
        Le credenziali di {t} sono {u} / {p}.
        Ho cambiato la password di {t} in {p}.""",
    "pt": """A nova senha de {t} é {p}.
        Entre em {t} com o usuário {u} e a senha {p}.
        Senha de {t}: {p}
        A palavra-passe de {t} foi alterada para {p}.
        As credenciais de {t}: {u} / {p}""",
    "nl": """Het nieuwe wachtwoord van {t} is {p}.
        Gebruik voor {t} de gebruiker {u} met wachtwoord {p}.
        Wachtwoord van {t} gewijzigd naar {p}.""",
    "pl": """Nowe hasło do {t} to {p}.
        Zaloguj się do {t} jako {u}, hasło: {p}
        Hasło administratora {t}: {p}
        Zmieniłem hasło do {t} na {p}.""",
    "sv": """Det nya lösenordet till {t} är {p}.
        Logga in på {t} som {u} med lösenordet {p}.""",
    "ru": """Новый пароль от {t}: {p}
        Для входа в {t} нужен пароль {p}, логин {u}.
        Пароль администратора {t} теперь {p}.
        Логин {u}, пароль {p} — для {t}.""",
    "ja": """{t}の新しいパスワードは{p}です。
        {t}にログインするにはユーザー{u}、パスワード{p}を使います。
        {t}のパスワード：{p}
        {t}の管理者パスワードを{p}に変更した。""",
    "zh": """{t} 的新密码是 {p}。
        登录 {t} 时用户名为 {u}，密码为 {p}。
        {t}的密码改为{p}了。
        {t}账号{u}，密码{p}""",
    "tr": """{t} için yeni şifre {p}
        {t} parolası: {p}""",
    "ko": """{t} 비밀번호: {p}
        {t}의 새 비밀번호는 {p} 입니다.""",
    "da": """Den nye adgangskode til {t} er {p}.""",
    "fi": """Uusi salasana ({t}) on {p}.""",
    "cs": """Nové heslo pro {t}: {p}""",
    "uk": """Новий пароль для {t}: {p}""",
}

_STRUCTURES = """{{"host": "{t}", "{n}": "{p}", "port": 5432}}
    {{"{u}": {{"name": "{u}", "{n}": "{p}"}}}}
    [{{"id": 3, "{n}": "{p}"}}, {{"id": 4, "{n}": "{q}"}}]
    {n}: {p}
    service:\\n  auth:\\n    user: {u}\\n    {n}: "{p}"
    - {n}: '{p}'
    {n} = "{p}"
    [{s}]\\nuser = {u}\\n{n} = {p}
    {N}={p}
    export {N}="{p}"
    {N}='{p}' # {t}
    <{x}>{p}</{x}>
    <config {x}="{p}" user="{u}"/>
    <setting name="{n}"><value>{p}</value></setting>
    {{name: '{n}', value: '{p}'}}
    {n} => "{p}",
    ${v} = '{p}';
    const {v} = `{p}`;
    let {v}: String = "{p}".to_string();
    os.environ["{N}"] = "{p}"
    config.set("{n}", "{p}")
    .put("{n}", "{p}")
    with_options(user="{u}", {v}="{p}")
    | {t} | {u} | {n} | {p} |
    | {n} | {p} |
    | system | user | password |\\n|---|---|---|\\n| {t} | {u} | {p} |
    host,user,password\\n{s},{u},{p}
    ALTER USER {u} WITH PASSWORD '{p}';
    CREATE LOGIN {u} WITH PASSWORD = '{p}';
    Server={s};Database=app;User Id={u};Password={p};Encrypt=true
    host={s} port=5432 user={u} password={p} dbname=app
    Endpoint=sb://{s}.example.com/;SharedAccessKeyName=Root;SharedAccessKey={k}
    DefaultEndpointsProtocol=https;AccountName={s};AccountKey={k};EndpointSuffix=example.net
    {{"login": {{"user": "{u}", "pw": "{p}"}}}}
    {{"type": "basic", "x": [{{"key": "user", "value": "{u}"}}, {{"key": "password", "value": "{p}"}}]}}
    {n}: |\\n  {p}
    - name: {N}\\n  value: {p}
    - {{ name: {N}, value: "{p}" }}
    environment:\\n  - {N}={p}
    [{s}.auth]\\n{v} = '{p}'
    {n}={p}
    set -gx {N} {p}
    setx {N} "{p}"
    $env:{N}="{p}"
    {N}: "{p}"
    :{v} => "{p}",
    {v}: "{p}",
    self.{v} = "{p}"
    private String {v} = "{p}";
    var {v} = "{p}"
    #define {N} "{p}"
    <{x} type="string">{p}</{x}>
    <entry key="{n}">{p}</entry>
    <property name="{n}" value="{p}"/>
    <string name="{v}">{p}</string>
    user = "{u}" password = "{p}"
    <server><id>x</id><username>{u}</username><password>{p}</password></server>
    INSERT INTO settings (name, value) VALUES ('{n}', '{p}');
    GRANT ALL ON app.* TO '{u}'@'%' IDENTIFIED BY '{p}';
    | Key | Value |\\n|---|---|\\n| {n} | `{p}` |
    | user | pass |\\n|--|--|\\n| {u} | {p} |
    {u}\\t{p}\\tpassword of {t}
    2026-03-01 12:00:01 DEBUG connecting user={u} password={p} host={s}
    [DEBUG] {v}="{p}" loaded
    ERROR: authentication failed with password '{p}' for {u}
    +{N}={p}
    -  {n}: {q}\\n+  {n}: {p}
    {s} ansible_host=10.0.0.4 ansible_user={u} ansible_password={a}
    requirepass {a}
    spring.mail.password={a}
    stringData:\\n  {n}: {p}
    set {n} {a}
    {u}:{a}@{s}:22
    Username: {u}\\nPassword: {p}
    login: {u}\\npass:  {p}
    Your password is: {p}
    password> {a}
    Enter password: {a}"""

_COMMANDS = """mysql -h {s} -u {u} -p{a} shop
    PGPASSWORD={a} psql -h {s} -U {u}
    curl -u {u}:{a} https://{s}.example.com/
    curl -H "X-Api-Key: {k}" https://{s}.example.com/v1
    wget --http-user={u} --http-password={a} https://{s}.example.com/x
    docker login -u {u} -p {a} {s}.example.com
    sshpass -p {a} ssh {u}@{s}
    tool connect --user {u} --password {a} --host {s}
    tool connect --db-password={a} --verbose
    redis-cli -h {s} -a {a} ping
    helm upgrade x y --set {s}.password={a}
    kubectl create secret generic {s} --from-literal={s}-password={a}
    echo {a} | sudo -S systemctl restart x
    echo "{u}:{a}" | chpasswd
    az sql server create -u {u} -p {a} -n {s}
    keytool -genkey -storepass {a} -alias x
    openssl rsa -in k.pem -passin pass:{a}
    ansible-playbook x.yml --extra-vars "{s}_password={a}"
    terraform apply -var "db_password={a}"
    vault kv put secret/{s} password={a}
    aws configure set aws_secret_access_key {k}
    smbclient //{s}/share -U {u}%{a}
    docker run -e {N}={a} {s}:16
    gh secret set {N} --body "{k}"
    net use z: \\\\{s}\\x /user:{u} {a}
    rclone config create x sftp host {s} user {u} pass {a}
    psql "postgresql://{u}:{a}@{s}/app?sslmode=require"
    mongosh "mongodb://{s}" -u {u} -p {a}
    mysqladmin -u {u} password '{a}'
    http -a {u}:{a} GET https://{s}.example.com/
    curl -d "username={u}&password={a}" https://{s}.example.com/login
    curl -d '{{"user":"{u}","password":"{a}"}}' https://{s}.example.com/login
    curl "https://{s}.example.com/?access_token={k}"
    curl -H "Authorization: Bearer {k}" https://{s}.example.com/
    podman run -e POSTGRES_PASSWORD={a} postgres
    docker service create --env {N}={a} x
    heroku config:set {N}={k}
    fly secrets set {N}={k}
    vercel env add {N} {k}
    wrangler secret put {N} <<< "{k}"
    aws secretsmanager create-secret --name x --secret-string '{a}'
    aws ssm put-parameter --name /{s}/password --value {a} --type SecureString
    gcloud sql users set-password {u} --instance=x --password={a}
    kubectl create secret docker-registry x --docker-username={u} --docker-password={a}
    npm config set //registry.npmjs.org/:_authToken={k}
    git clone https://{u}:{a}@github.com/x/y.git
    ldapsearch -D cn={u} -w {a} -b dc=x
    sudo mount -t cifs //nas/x /mnt -o user={u},pass={a}
    nmcli device wifi connect Depot password {a}
    ssh-keygen -t ed25519 -N {a} -f key
    gpg --batch --passphrase {a} -d x.gpg
    7z x -p{a} backup.7z
    unzip -P {a} x.zip
    zip -e -P {a} x.zip f
    export {N}={a} && ./run.sh
    {N}={a} make deploy
    terraform plan -var="{v}={a}"
    helm install x y --set auth.password={a},auth.username={u}
    rabbitmqctl add_user {u} {a}
    useradd -p {a} {u}
    smbpasswd -a {u} <<< {a}
    influx setup --username {u} --password {a} --org x
    vault login {k}
    sentry-cli --auth-token {k} releases list
    gh auth login --with-token <<< {k}
    influx --token {k} query x"""

_ADDRESSES = """postgresql://{u}:{a}@{s}.example.com:5432/app
    mongodb+srv://{u}:{a}@{s}.example.net/?retryWrites=true
    redis://default:{a}@{s}:6379/0
    amqps://{u}:{a}@{s}.example.com/vhost
    https://{u}:{a}@git.example.com/x/y.git
    ftp://{u}:{a}@{s}.example.com/pub
    smtp://{u}%40example.com:{a}@smtp.example.com:587
    https://{s}.example.com/hook?token={k}
    https://{s}.example.com/login?user={u}&password={a}&next=%2F
    https://{s}.example.com/v1?api_key={k}&x=1
    https://{s}.example.com/cb#access_token={k}&expires_in=3600
    jdbc:postgresql://{s}:5432/app?user={u}&password={a}
    wss://{s}.example.com/ws?auth_token={k}
    http://{u}:{a}@{s}:8080/
    mysql+pymysql://{u}:{a}@{s}/app
    sqlserver://{s}:1433;user={u};password={a}
    rtsp://{u}:{a}@{s}/stream1
    imaps://{u}:{a}@mail.example.com
    https://{s}.example.com/?key={k}
    https://{s}.example.com/reset?token={k}&u=1
    https://api.example.com/bot?secret={k}
    postgres%3A%2F%2F{u}%3A{a}%40{s}%2Fapp
    ssh://{u}:{a}@{s}:2222/x
    X-Auth-Key: {k}
    Api-Key: {k}
    x-access-token: {k}
    Authorization: token {k}
    authorization: bearer {k}
    "Authorization": `Bearer {k}`
    Cookie: auth_token={k}
    X-API-Token={k}
    client-secret: {k}"""

_HEADERS = """Authorization: Bearer {k}
    Authorization: Token {k}
    authorization: ApiKey {k}
    Proxy-Authorization: Bearer {k}
    X-Auth-Token: {k}
    X-Api-Key: {k}
    PRIVATE-TOKEN: {k}
    X-Vault-Token: {k}
    Cookie: theme=dark; session_token={k}; lang=en
    Set-Cookie: sessionid={k}; Path=/; HttpOnly
    apikey: {k}
    Ocp-Apim-Subscription-Key: {h}
    X-Shopify-Access-Token: {k}"""

_NAMES = """{s}-password-{a}.md
    {s} password {a}.txt
    {s}_pw_{a}.md
    password={a}.md
    logins/{s}/{u}-password-{a}.md
    credentials/{s}_passwd_{a}.txt
    new {s} password is {a}.md
    {a}-{s}-password.md
    passwort-{s}-{a}.md
    mot-de-passe-{s}-{a}.txt
    contraseña-{s}-{a}.md
    senha do {s} {a}.md
    wachtwoord-{s}-{a}.md
    {s}-hasło-{a}.txt
    пароль от {s} {a}.md
    {s}-パスワード-{a}.md
    {s}密码{a}.txt
    api-key-{s}-{k}.md
    {s}-token-{k}.txt
    secret_{s}_{k}.json
    {s} login {u} {a}.md
    {s}-{u}-pwd-{a}.md
    notes/{s}/passphrase {a}.txt
    2026-03-14-{s}-password-reset-{a}.md
    {s}.passwd.{a}.md
    {s} - passwort {a}.md
    {s}_password_is_{a}.txt
    my-{s}-pass-{a}.md
    {s}/password {a}.md
    passwords {s} {u} {a}.md
    login {s} {u} {a}.md
    {s}-secret-{a}.md
    pw {s} {a}.txt
    {s} pwd {a}.md
    wifi password {a}.md
    contrasena-{s}-{a}.md
    mot de passe {s} {a}.md
    salasana-{s}-{a}.md
    kennwort {a}.md
    {s}-credentials-{u}-{a}.md
    apikey-{k}.md
    {s} api key {k}.md
    token {k}.txt
    {a} password {s}.md
    vault/{s}-password.{a}.md
    2026-05-01 new password {a} for {s}.md
    hasło {s} {a}.md
    パスワード {s} {a}.md
    {s}的密码{a}.md"""

_HEX = "0123456789abcdef"
_TOKENS: Mapping[str, Callable[[random.Random], str]] = {
    "GitHub": lambda rng: f"gh{rng.choice('pousr')}_{_drawn(rng, _ALNUM, 36, 36)}",
    "GitHub, fine-grained": lambda rng: (
        f"github_pat_{_drawn(rng, _ALNUM, 22, 22)}_{_drawn(rng, _ALNUM, 59, 59)}"
    ),
    "GitLab": lambda rng: f"glpat-{_drawn(rng, _ALNUM, 20, 20)}",
    "Anthropic": lambda rng: f"sk-ant-api03-{_drawn(rng, _ALNUM + '-_', 92, 92)}A",
    "OpenAI": lambda rng: f"sk-proj-{_drawn(rng, _ALNUM, 74, 74)}",
    "Google": lambda rng: f"AIza{_drawn(rng, _ALNUM, 35, 35)}",
    "Groq": lambda rng: f"gsk_{_drawn(rng, _ALNUM, 52, 52)}",
    "Hugging Face": lambda rng: f"hf_{_drawn(rng, _ALNUM, 34, 34)}",
    "Slack": lambda rng: f"xoxb-{_drawn(rng, string.digits, 12, 12)}-{_drawn(rng, _ALNUM, 24, 24)}",
    "Stripe": lambda rng: f"sk_live_{_drawn(rng, _ALNUM, 24, 24)}",
    "AWS": lambda rng: f"AKIA{_drawn(rng, string.ascii_uppercase + '234567', 15, 15)}7",
    "npm": lambda rng: f"npm_{_drawn(rng, _ALNUM, 36, 36)}",
    "PyPI": lambda rng: f"pypi-AgEIcHlwaS5vcmc{_drawn(rng, _ALNUM, 120, 150)}",
    "Docker": lambda rng: f"dckr_pat_{_drawn(rng, _ALNUM, 27, 27)}",
    "DigitalOcean": lambda rng: f"dop_v1_{_drawn(rng, _HEX, 64, 64)}",
    "SendGrid": lambda rng: f"SG.{_drawn(rng, _ALNUM, 22, 22)}.{_drawn(rng, _ALNUM, 43, 43)}",
    "Linear": lambda rng: f"lin_api_{_drawn(rng, _ALNUM, 40, 40)}",
    "Supabase": lambda rng: f"sb_secret_{_drawn(rng, _ALNUM, 31, 31)}",
    "Databricks": lambda rng: f"dapi{_drawn(rng, _HEX, 32, 32)}",
    "JWT": lambda rng: f"eyJhbGciOiJIUzI1NiJ9.eyJ{_drawn(rng, _ALNUM, 40, 60)}.{_drawn(rng, _ALNUM, 43, 43)}",
}
_AROUND_TOKENS = (
    "see {v} for that", "{v}", "`{v}`", "use {v}.", "x({v!r})", "key={v};", "a,{v},b", "<{v}>", "[{v}](#x)",
    "the one of yesterday ({v}) is gone", "- {v}\n- none",
)  # fmt: skip


def _filled(template: str) -> Carrier:
    """A carrier that draws what the slots of a template stand for; the secrets are p, q, a, k and h."""

    def carrier(rng: random.Random) -> Made:
        thing, noun = rng.choice(_THINGS), rng.choice(_NOUNS)
        name = _name(rng)
        secrets = {
            **{"p": _password(rng), "q": _password(rng), "a": _plain(rng), "k": _key(rng)},
            "h": _drawn(rng, _HEX, 32, 32),
        }
        words = {
            **{"t": thing, "s": thing.replace(" ", "-"), "u": rng.choice(_USERS), "n": name},
            "N": f"{thing.replace(' ', '_')}_{noun}".upper(),
            "x": thing.split()[0] + noun.title(),
            "v": thing.replace(" ", "_") + "_" + noun,
        }
        text = template.format(**secrets, **words)
        return text, tuple(value for key, value in secrets.items() if f"{{{key}}}" in template)

    return carrier


def _encoded(inner: Carrier, way: str) -> Carrier:
    """A carrier whose text is written in another encoding."""

    def carrier(rng: random.Random) -> Made:
        text, secrets = inner(rng)
        if way == "base64":
            data = base64.b64encode(text.encode()).decode()
            return f"payload: {data}", (data,)
        if way == "hex":
            data = text.encode().hex()
            return f"dump {data} end", (data,)
        if way == "percent":
            return f"next={quote(text, safe='')}", tuple(quote(each, safe="") for each in secrets)
        if way == "quoted-printable":
            data = quopri.encodestring(text.encode()).decode()
            # A soft break may stand inside the secret.
            return data, tuple(
                half
                for each in secrets
                for half in (quopri.encodestring(each.encode()).decode(),)
                if half in data
            )
        escaped = json.dumps({"output": text})
        return escaped, tuple(json.dumps(each)[1:-1] for each in secrets)

    return carrier


def _field_in_base64(rng: random.Random) -> Made:
    data = base64.b64encode(_password(rng).encode()).decode()
    return f"kind: Secret\ndata:\n  {rng.choice(('password', 'db-password', 'token'))}: {data}", (data,)


def _basic(rng: random.Random) -> Made:
    data = base64.b64encode(f"{rng.choice(_USERS)}:{_password(rng)}".encode()).decode()
    return rng.choice(("Authorization: Basic {}", '"auth": "{}"', "-H 'Authorization: Basic {}'")).format(
        data
    ), (data,)


def _private_key(rng: random.Random) -> Made:
    kind = rng.choice(("RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED "))
    lines = [_drawn(rng, _ALNUM + "+/", 64, 64) for _ in range(rng.randint(3, 12))]
    around = rng.choice(("{}", "key: |\n{}", "> {}", '{{"key": "{}"}}'))
    joint = {"{": "\\n", ">": "\n> "}.get(around[0] if around != "{}" else "", "\n")
    if around.startswith("key"):
        joint = "\n  "
    begin, end = f"-----BEGIN {kind}PRIVATE KEY-----", f"-----END {kind}PRIVATE KEY-----"
    return around.format(joint.join((begin, *lines, end))), tuple(lines)


def _token(make: Callable[[random.Random], str]) -> Carrier:
    def carrier(rng: random.Random) -> Made:
        value = make(rng)
        return rng.choice(_AROUND_TOKENS).format(v=value), (value,)

    return carrier


def _of(kind: str, templates: str) -> dict[str, Carrier]:
    lines = [line.strip().replace("\\n", "\n").replace("\\t", "\t") for line in templates.splitlines()]
    return {f"{kind}: {line[:60]}": _filled(line) for line in lines}


def _texts() -> dict[str, Carrier]:
    structures, sentences = _of("structure", _STRUCTURES), dict[str, Carrier]()
    for language, templates in _SENTENCES.items():
        sentences |= _of(f"sentence, {language}", templates)
    chosen: Sequence[Carrier] = [*structures.values()][:12] + [*sentences.values()][:8]
    return {
        **sentences,
        **structures,
        **_of("command", _COMMANDS),
        **_of("address", _ADDRESSES),
        **_of("header", _HEADERS),
        **{f"token, {service}": _token(make) for service, make in _TOKENS.items()},
        **{
            f"{way} {number}": _encoded(inner, way)
            for way in ("base64", "hex", "percent", "quoted-printable", "escaped")
            for number, inner in enumerate(chosen[::4])
        },
        "field in base64": _field_in_base64,
        "basic": _basic,
        "private key": _private_key,
    }


FRESH_TEXTS: Mapping[str, Carrier] = _texts()
FRESH_FILE_NAMES: Mapping[str, Carrier] = _of("name", _NAMES)


def drawn(carriers: Mapping[str, Carrier], seed: int, count: int) -> list[Written]:
    """`count` texts of different carriers, drawn by `seed`; each carrier once before any is repeated."""
    rng = random.Random(f"fresh {seed}")
    found: list[Written] = []
    while len(found) < count:
        order = list(carriers)
        rng.shuffle(order)
        found += [Written(form, *carriers[form](rng)) for form in order[: count - len(found)]]
    return found
