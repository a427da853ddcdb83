"""Forms in which secrets stand in memories, transcripts and output of tools, and made-up values for them.

Each set but `TUNED` was written and measured before any rule was changed for it, and the rules were then
changed for what it showed. So none of them is blind any more: only the first figure of each tells what is to
be expected of forms that nobody thought of. In the order of their making: `TUNED`, `EARLIER` (5.0 % stayed at
first), `HELD` (2.0 %), `FRESH` (7.3 % of texts, 32.9 % of names of files).

`«p»` is a generated password, `«q»` another, `«k»` a key of 32 to 40 characters, `«w»` a passphrase of words
with blanks. Seeded; nothing here is real.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Mapping

from reverie.values import Struct

_LETTERS = string.ascii_letters
_ALNUM = _LETTERS + string.digits
_PHRASE = (
    "otter", "maple", "copper", "violet", "tunnel", "harbor", "pepper", "walnut", "silver", "rocket",
    "candle", "meadow",
)  # fmt: skip
_MARK = re.compile("«([pqkw])»")

FRESH: Mapping[str, str] = {
    "chat, it is now": "btw the pw for the wiki changed, it's «p» now",
    "chat, try": "try «p», that's the new password for grafana",
    "chat, key pasted": "here's my api key «k» please don't commit it",
    "chat, token given": "the token I gave you is «k», put it in .env",
    "chat, Wi-Fi": "Wifi: Guestnet, key «p»",
    "chat, letters": "u: ada\np: «p»",
    "chat, two lines": "Login: ada\nPW «p»",
    "chat, passcode": "the passcode for the tablet in the meeting room: «p»",
    "chat, log in": "you can get in with ada / «p» (admin account, same password on both boxes)",
    "chat, question": "is the sudo password still «p»?",
    "chat, spoken": "ok so password = capital letters too: «p»",
    "chat, old one": "no, not «q», the password of the vault is «p»",
    "output, shown once": "Created ada. Password (shown once): «p»",
    "output, MySQL": "+---------------+\n| password      |\n+---------------+\n| «p» |\n+---------------+",
    "output, echo": "$ echo $DB_PASSWORD\n«p»",
    "output, pgpass": "$ cat ~/.pgpass\ndb.example.com:5432:shop:ada:«p»",
    "output, netrc": "machine git.example.com login ada password «p»",
    "output, secret decoded": "$ kubectl get secret pg -o jsonpath='{.data.password}' | base64 -d\n«p»",
    "output, pass": "$ pass show mail/password\n«p»",
    "output, initial": "$ argocd admin initial-password -n argocd\n«p»",
    "output, bearer": "+ curl -H 'Authorization: Bearer «k»' https://api.example.com/v1/me",
    "output, set to": "Password for user ada set to «p»",
    "output, printenv": "HOME=/root\nRABBITMQ_DEFAULT_PASS=«p»\nTERM=xterm",
    "JSON, nested": '{"auth": {"username": "ada", "password": "«p»"}}',
    "JDBC": "url: jdbc:mysql://db/shop?user=ada&password=«p»&useSSL=false",
    "XML attribute": '<user name="ada" password="«p»" roles="admin"/>',
    "XML element": "<server><username>ada</username><password>«p»</password></server>",
    "Go struct": 'cfg := Config{User: "ada", Password: "«p»"}',
    "keyword argument": 'connect(host="db", user="ada", password="«p»", port=5432)',
    "redis-cli": "redis-cli -h cache -a «p» ping",
    "requirepass": "requirepass «p»",
    "sshpass": "sshpass -p '«p»' ssh ada@box",
    "openssl": "openssl enc -aes-256-cbc -pass pass:«p» -in a -out b",
    "wpa": 'network={\n  ssid="Guest"\n  psk="«p»"\n}',
    "iwctl": "iwctl --passphrase «p» station wlan0 connect Guest",
    "xfreerdp": "xfreerdp /v:box /u:ada /p:«p» /cert:ignore",
    "mount": "mount -t cifs //nas/s /mnt -o username=ada,password=«p»,uid=1000",
    "libpq": 'psql "host=db user=ada password=«p» dbname=shop"',
    "htpasswd": "htpasswd -bc .htpasswd ada «p»",
    "npmrc": "//npm.example.com/:_authToken=«k»",
    "Rust": 'const API_TOKEN: &str = "«k»";',
    "comment": "# sudo pw on this box: «p»",
    "table, short head": "| Service | Login | PW |\n|---|---|---|\n| NAS | ada | «p» |",
    "table, HTML": "<tr><th>Password</th><td>«p»</td></tr>",
    "table, tabs": "name\tuser\tpassword\nnas\tada\t«p»",
    "table, box": "│ user │ password │\n├──────┼──────────┤\n│ ada  │ «p» │",
    "table, semicolons": "Gerät;Benutzer;Kennwort\nNAS;ada;«p»",
    "table, pair in a cell": "| NAS | user ada, password «p» | works |",
    "German, changed": "Ich habe das Passwort vom Router auf «p» geändert.",
    "French, set": "J'ai mis «p» comme mot de passe pour la base.",
    "Spanish, changed": "Cambié la clave del wifi a «p».",
    "Portuguese, use": "Use a senha «p» para entrar no painel.",
    "Italian, needed": "Per entrare serve la password «p», utente ada.",
    "Dutch, log in": "Log in met gebruiker ada en wachtwoord «p».",
    "Polish, new": "Nowe hasło do routera to teraz «p».",
    "Russian, changed": "Сменил пароль на «p», старый не работает.",
    "Japanese, changed": "パスワードを「«p»」に変更しました。",
    "Chinese, changed": "把路由器密码改成了 «p»",
    "Turkish, made": "Yönetici şifresini «p» yaptım.",
    "Swedish, changed": "Bytte lösenord på routern till «p».",
}
"""Name of the form, and a text in it."""

FRESH_NAMES: Mapping[str, str] = {
    "name, folder of passwords": "passwords/nas-«p».md",
    "name, German box": "Passwort_Router_«p».txt",
    "name, French": "mot-de-passe-nas-«p».md",
    "name, Spanish": "clave wifi «p».md",
    "name, Russian": "пароль-«p».md",
    "name, Chinese": "密码-«p».md",
    "name, in brackets": "wifi (password «p»).md",
    "name, value first": "«p»-is-the-root-password.md",
    "name, dated": "2026-11-02-new-db-password-«p».md",
    "name, openai": "openai-key-«k».md",
    "name, sign": "github_token=«k».json",
    "name, login": "login-ada-password-is-«p».txt",
}
"""The same for names of files."""

HELD: Mapping[str, str] = {
    "compose secret": "services:\n  db:\n    environment:\n      - MARIADB_ROOT_PASSWORD=«p»\n      - TZ=UTC",
    "secret of a pod": "kind: Secret\nstringData:\n  username: ada\n  password: «p»",
    "list of options": '["--user", "ada", "--password", "«p»"]',
    "args in Python": 'subprocess.run(["vpnc", "--secret", "«p»"])',
    "named argument": 'connect(host="db", user="ada", passwd="«p»", port=3306)',
    "object in JavaScript": "const cfg = { user: 'ada', password: '«p»' };",
    "map in Go": 'map[string]string{"db_password": "«p»"}',
    "tfvars": 'rds_master_password = "«p»"',
    "HCL block": 'env {\n  name  = "ADMIN_PASSWORD"\n  value = "«p»"\n}',
    "properties of XML": '<property name="hibernate.connection.password" value="«p»"/>',
    "XML, turned": '<add value="«p»" key="SmtpPassword"/>',
    "Dockerfile": "ENV REDIS_PASSWORD «p»",
    "Makefile": "DB_PASS ?= «p»",
    "cron line": "0 3 * * * BORG_PASSPHRASE=«p» /usr/local/bin/backup",
    "ssh config comment": "# password for this host: «p»",
    "nmcli": "nmcli dev wifi connect Depot password «p»",
    "smbclient": "smbclient //nas/share -U ada%«p»",
    "psql address": "psql postgresql://ada:«p»@db.example.com/app",
    "rsync": "RSYNC_PASSWORD=«p» rsync -a ada@box::mod .",
    "ldapsearch": "ldapsearch -x -D cn=admin -w «p» -b dc=x",
    "keychain": "security add-generic-password -a ada -s svc -w «p»",
    "createuser": "mongo admin --eval \"db.createUser({user: 'ada', pwd: '«p»'})\"",
    "git remote": "origin  https://ada:«p»@git.example.com/x.git (fetch)",
    "encoded query": "?redirect=1&login%5Bpassword%5D=«p»&x=1",
    "answer of a tool": '{"stdout": "admin password: «p»\\nDone.\\n", "exit": 0}',
    "log of Jenkins": "Please use the following password to proceed to installation:\n\n«p»\n\nThis may",
    "generated": "Generated password: «p»",
    "temporary": "A temporary password is generated for root@localhost: «p»",
    "told in passing": "Ada says the printer wants «p» when it asks for the password.",
    "two accounts": "Passwords: ada has «p», ben has «q».",
    "old and new": "old password «p», new password «q»",
    "in brackets": "Log in to the NAS (admin, password «p»).",
    "bold": "**Password**: **«p»**",
    "quote": "> the db password is «p»",
    "task": "- [x] set the root password of web1 to `«p»`",
    "arrow": "router → password → «p»",
    "dash": "Wi-Fi password - «p»",
    "phrase below": "Passphrase of the archive:\n\n> «p»",
    "wide table": "| Host | User | Password | Owner |\n|--|--|--|--|\n| db1 | ada | «p» | Ben |",
    "turned table": "| | web1 | web2 |\n|--|--|--|\n| user | ada | ben |\n| password | «p» | «q» |",
    "words in quotes": 'BACKUP_PASSPHRASE: "«w»"',
    "Estonian": "Serveri parool on «p».",
    "Croatian": "Lozinka za bazu je «p».",
    "Slovak": "Heslo do databázy je «p».",
    "Catalan": "La contrasenya del servidor és «p».",
    "Slovenian": "Geslo strežnika je «p».",
    "Lithuanian": "Serverio slaptažodis yra «p».",
    "Serbian": "Лозинка за сервер је «p».",
    "Malay": "Kata laluan pelayan ialah «p».",
    "Basque": "Zerbitzariaren pasahitza «p» da.",
    "Icelandic": "Lykilorðið er «p».",
    "Bengali": "সার্ভারের পাসওয়ার্ড «p»",
    "Traditional Chinese": "資料庫密碼為「«p»」",
}

HELD_NAMES: Mapping[str, str] = {
    "name, dots": "nas.password.«p».md",
    "name, camel case": "routerPassword-«p».md",
    "name, key of a service": "stripe_secret_«k».txt",
    "name, folder": "logins/ada_password=«p».md",
    "name, German": "WLAN-Passwort «p».md",
    "name, passphrase": "backup-passphrase_«p».txt",
    "name, user": "ada-pw-«p»-nas.md",
}
"""The same for names of files."""

EARLIER: Mapping[str, str] = {
    # structures
    "env list of a pod": '{"name": "DB_PASSWORD", "value": "«p»"}',
    "env list, reversed": '{"value": "«p»", "name": "SMTP_PASSWORD"}',
    "env list in YAML": "env:\n  - name: REDIS_PASSWORD\n    value: «p»\n  - name: PORT\n    value: '80'",
    "parameter of a template": '{"ParameterKey": "MasterUserPassword", "ParameterValue": "«p»"}',
    "Terraform variable": 'variable "db_password" {\n  type    = string\n  default = "«p»"\n}',
    "tuple": 'auth=("ada", "«p»"),  # basic auth of the registry, user and password',
    "call with a key": 'os.environ.setdefault("MAIL_PASSWORD", "«p»")',
    "setter": 'config.setProperty("javax.net.ssl.keyStorePassword", "«p»");',
    "PHP define": "define( 'DB_PASSWORD', '«p»' );",
    "Ruby hash": ":password => '«p»',",
    "XML pair": "<entry><name>ldap.password</name><value>«p»</value></entry>",
    "TOML section": '[registry.credentials]\nuser = "ci"\npass = "«p»"',
    "INI with a blank": "smtp password = «p»",
    "CSV": "service,user,password\ngrafana,ada,«p»\n",
    "SQL": "CREATE USER ada WITH ENCRYPTED PASSWORD '«p»';",
    "SQL identified by": "ALTER USER 'app'@'%' IDENTIFIED BY '«p»';",
    # options and variables
    "long option": "mongosh --host db --username ada --password «p» --quiet",
    "long option with a sign": "helm install pg bitnami/postgresql --set auth.postgresPassword=«p»",
    "SSHPASS": "SSHPASS=«p» sshpass -e ssh ada@box",
    "short option, glued": "mysql -uroot -p«p» shop",
    "curl user": "curl -sS --user 'ada:«p»' https://jira.example.com/rest/api/2/myself",
    "restic": "export RESTIC_PASSWORD='«p»'",
    "PowerShell": "$env:ARM_CLIENT_SECRET = '«p»'",
    "secure string": 'ConvertTo-SecureString "«p»" -AsPlainText -Force',
    "docker run": "docker run -e POSTGRES_PASSWORD=«p» -d postgres:16",
    "gh secret": "gh secret set NPM_TOKEN --body «k»",
    "kubectl literal": "kubectl create secret generic pg --from-literal=password=«p»",
    "chpasswd": "echo 'ada:«p»' | sudo chpasswd",
    "expect": 'expect "Password:" { send "«p»\\r" }',
    # addresses
    "address, slashes escaped": '{"dsn": "amqp:\\/\\/ada:«p»@mq.example.com:5672\\/app"}',
    "address, percent-encoded": "next=postgresql%3A%2F%2Fada%3A«p»%40db.example.com%3A5432%2Fapp",
    "address, query": "https://hooks.example.com/run?user=ada&passwd=«p»&dry=1",
    # sentences
    "sentence": "The password of the staging cluster is «p» until further notice.",
    "sentence, word after": "Use «p» as the password when the printer asks.",
    "conjunction": "The user is ada and the password «p», both work on staging.",
    "change": "Ada changed the router password from «p» to «q» on Monday.",
    "later item": "Passwords of the three boxes: «p», «q» and the old one.",
    "behind words": "password for the build machine in the cellar (ask Ada first) – «p»",
    "next line": "The vault password:\n\n    «p»\n",
    "next line in prose": "This is the new admin password\n«p»\nDo not share it.",
    "quoted passphrase": 'The passphrase of the backup key is "«w»".',
    "passphrase, assignment": 'BORG_PASSPHRASE="«w»"',
    "key with line numbers": "12: API_SECRET=«k»\n13: PORT=80",
    "output with arrows": "     7→  client_secret: «k»",
    "log": "2026-11-02 10:04:11 INFO login ok user=ada pwd=«p» ip=10.0.0.7",
    "diff": "-  password: «p»\n+  password: «q»",
    # tables
    "table, value column": "| setting | value | owner |\n|---|---|---|\n| admin password | «p» | Ada |",
    "table, third cell": "| mail password | smtp.example.com | «p» |",
    "table without rules": "host      user   password\nweb1      ada    «p»\nweb2      ada    «q»",
    "definition list": "Root password\n: «p»",
    # further languages
    "Swedish": "Lösenordet till databasen är «p».",
    "Danish": "Adgangskoden til serveren er «p».",
    "Finnish": "Palvelimen salasana on «p».",
    "Turkish": "Veritabanının şifresi «p» olarak değiştirildi.",
    "Hungarian": "Az adatbázis jelszava «p».",
    "Ukrainian": "Пароль до бази даних: «p»",
    "Greek": "Ο κωδικός πρόσβασης της βάσης είναι «p».",
    "Vietnamese": "Mật khẩu của máy chủ là «p».",
    "Indonesian": "Kata sandi server staging adalah «p».",
    "Arabic": "كلمة المرور للخادم هي «p»",
}
"""Held back at first: 5.0 % stayed when it was first measured, 54 % before; then it was worked on as well."""

EARLIER_NAMES: Mapping[str, str] = {
    "name, hyphens": "router-password-«p».md",
    "name, underscores": "vpn_passwd_«p».md",
    "name, sign": "wifi-pw=«p».md",
    "name, blanks": "admin password «p».md",
    "name, key": "api-key-«k».md",
}
"""The same for names of files."""

TUNED: Mapping[str, str] = {
    # structures
    "ECS secret": '{"Name": "API_SECRET", "Value": "«p»"}',
    "key and value": '{"key": "jwt_secret", "value": "«p»"}',
    "value and key": '{"value": "«p»", "key": "db.password"}',
    "YAML pair": "- key: admin_password\n  value: «p»",
    "YAML pair, reversed": "- value: «p»\n  key: admin_password",
    "YAML pair, quoted": '- name: "APP_PASSWORD"\n  value: "«p»"',
    "labelled field": '{"label": "Password", "type": "concealed", "value": "«p»"}',
    "getter with a default": 'os.getenv("DB_PASSWORD", "«p»")',
    "method with two": 'System.setProperty("db.password", "«p»")',
    "header pair": '{"header": "X-Api-Key", "value": "«k»"}',
    "tuple of names": '("DB_PASSWORD", "«p»"),',
    "assignment in code": 'password := "«p»"',
    "Java": 'private static final String PASSWORD = "«p»";',
    "property": "spring.datasource.password=«p»",
    "connection string": "Server=db;Uid=sa;Pwd=«p»;Encrypt=yes",
    "nested quotes": '"{\\"password\\": \\"«p»\\"}"',
    "CSV line": "name,login,passwd\nshop,root,«p»",
    "SQL set": "SET PASSWORD FOR 'ada'@'localhost' = '«p»';",
    "SQL role": "ALTER ROLE app PASSWORD '«p»';",
    # options
    "option": "psql-backup --user ada --password «p» --all",
    "option with =": "vault login --password=«p»",
    "one dash": "keytool -storepass «p» -alias x",
    "glued p": "mysqldump -h db -u root -p«p» shop > dump.sql",
    "curl": "curl -u ada:«p» https://x.test",
    "wget": "wget --user=ada --password=«p» https://x.test/f",
    "variable before": "PGPASSWORD=«p» psql -h db",
    "variable": "export MYSQL_PWD=«p»",
    "set": "set FTP_PASS=«p»",
    "fish": "set -x DEPLOY_PASSWORD «p»",
    "az": "az login --service-principal -u app -p «p» --tenant t",
    "ansible": "ansible-playbook site.yml -e ansible_become_pass=«p»",
    "useradd": "net user ada «p» /add",
    "here string": "sudo -S id <<< «p»",
    # addresses
    "escaped slashes": "redis:\\/\\/:«p»@cache:6379",
    "encoded": "url=mysql%3A%2F%2Froot%3A«p»%40db%2Fshop",
    "query": "GET /login?user=a&password=«p> HTTP/1.1".replace("«p>", "«p»"),
    # sentences
    "plain": "The staging password is «p».",
    "plain, quoted": "The root password is `«p»`.",
    "plain, set": "I set the database password to «p» yesterday.",
    "word after": "«p» is the password of the scanner.",
    "log in with": "Log in as ada with password «p» and press Enter.",
    "and": "Login is ada and password is «p».",
    "user, then": "Username ada, password «p», port 22.",
    "from to": "Rotated the API password from «p» to «q».",
    "list": "The passwords are «p», «q».",
    "still": "For now the password of Grafana still is «p», change it.",
    "brackets": "The Grafana password (currently «p») rotates monthly.",
    "below": "Password for the NAS:\n«p»",
    "below, in a fence": "The password is\n```\n«p»\n```",
    "words between": "password of the shared machine behind the door: «p»",
    "phrase": "passphrase: '«w»'",
    "phrase in a sentence": "The passphrase is “«w»”.",
    "numbered": "   3\texport API_TOKEN=«k»",
    "numbered colon": "config.py:14: SECRET_KEY = '«k»'",
    "log pair": "login user=ada password=«p» ok",
    # tables
    "row": "| db password | «p» |",
    "column": "| host | password |\n|---|---|\n| a | «p» |\n| b | «q» |",
    "row, third": "| password | production | «p» |",
    "aligned": "user     password\nada      «p»",
    # languages
    "German": "Das Kennwort der Datenbank lautet «p».",
    "French": "Le mot de passe de la base est «p».",
    "Spanish": "La contraseña del servidor es «p».",
    "Portuguese": "A senha do servidor é «p».",
    "Italian": "La password del server è «p».",
    "Dutch": "Het wachtwoord van de server is «p».",
    "Polish": "Hasło do serwera to «p».",
    "Czech": "Heslo k serveru je «p».",
    "Romanian": "Parola serverului este «p».",
    "Norwegian": "Passordet til serveren er «p».",
    "Russian": "Пароль от сервера — «p».",
    "Chinese": "服务器的密码是«p»。",
    "Japanese": "サーバーのパスワードは「«p»」です。",
    "Korean": "서버 비밀번호는 «p»입니다.",
    "Thai": "รหัสผ่านของเซิร์ฟเวอร์คือ «p»",
    "Hebrew": "הסיסמה של השרת היא «p»",
    "Hindi": "सर्वर का पासवर्ड «p» है",
    "Persian": "رمز عبور سرور «p» است",
    "Bulgarian": "Паролата за сървъра е «p».",
}

TUNED_NAMES: Mapping[str, str] = {
    "file": "password-«p».txt",
    "file, tail": "nas_password_«p».md",
    "file, token": "github token «k».md",
    "folder": "secrets/db-pass-«p»/notes.md",
}


class Written(Struct, frozen=True):
    """A text of one form with its secrets."""

    form: str
    text: str
    secrets: tuple[str, ...]


def write(forms: Mapping[str, str], form: str, seed: int) -> Written:
    """One text of a form; the kind of its values goes by `seed`, in turn."""
    rng = random.Random(f"{form} {seed}")
    values: dict[str, str] = {}

    def value(mark: re.Match[str]) -> str:
        return values.setdefault(mark[1], _value(mark[1], rng, seed))

    text = _MARK.sub(value, forms[form])
    return Written(form, text, tuple(values.values()))


def _value(kind: str, rng: random.Random, seed: int) -> str:
    if kind == "w":
        return " ".join(rng.sample(_PHRASE, 4))
    if kind == "k":
        return _drawn(rng, _ALNUM, rng.choice((32, 40)))
    if seed % 4 == 0:
        return _drawn(rng, _LETTERS, 14)
    if seed % 4 == 1:
        return _drawn(rng, _ALNUM, 14)
    if seed % 4 == 2:
        return _drawn(rng, string.ascii_lowercase + string.digits, 12)
    return rng.choice(_LETTERS) + _drawn(rng, _ALNUM + "!$^*-_=+", 13) + rng.choice(_ALNUM)


def _drawn(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))
