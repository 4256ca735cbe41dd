"""The words of the demo data: cars, and for each category its parts, what they are used for and how they measure."""

from collections.abc import Mapping
from typing import NamedTuple

from partita_systems.eecar.categories import Category

CARS = [
    ("현대", "아이오닉 5"),
    ("현대", "코나 일렉트릭"),
    ("기아", "EV6"),
    ("기아", "니로 EV"),
    ("테슬라", "모델 3"),
    ("테슬라", "모델 Y"),
    ("쉐보레", "볼트 EV"),
    ("KG모빌리티", "토레스 EVX"),
]


class Use(NamedTuple):
    industry: str
    application: str
    description: str


class Kind(NamedTuple):
    """The parts of a category. Ranges are in the units of a specification: V, kWh, kW, kg."""

    names: list[str]
    uses: list[Use]
    material: tuple[str, list[str]]
    voltages: list[int]
    power: tuple[int, int]
    weight: tuple[int, int]
    capacity: tuple[int, int] | None = None


SOLAR = Use("재생에너지", "태양광 에너지 저장", "낮에 모은 전기를 밤에 씁니다.")
BACKUP = Use("ESS", "공장 비상 전원", "정전 때 설비를 두 시간 동안 지킵니다.")
TOOLS = Use("건설", "전동 공구 전원", "현장에서 발전기를 대신합니다.")
CART = Use("농업", "전동 운반차", "과수원에서 하루 한 번 충전으로 움직입니다.")
BOAT = Use("해양", "소형 전기 보트", "조용하고 매연이 없습니다 ⛵.")
SCHOOL = Use("교육", "정비 실습 교재", "학생이 분해하고 다시 조립합니다.")
REPAIR = Use("정비", "사고 차량 수리", "신품의 절반 값에 고칩니다.")
PARKING = Use("충전", "주차장 충전 설비", "아파트 주차장에서 밤새 충전합니다.")
GREENHOUSE = Use("농업", "온실 난방", "겨울에도 온실을 따뜻하게 지킵니다.")

KINDS: Mapping[Category, Kind] = {
    Category.BATTERY: Kind(
        ["고전압 배터리 팩", "배터리 모듈", "배터리 셀 묶음 🔋"],
        [SOLAR, BACKUP, TOOLS, CART],
        ("리튬", ["니켈", "코발트"]),
        [355, 400, 650, 800],
        (40, 240),
        (20, 480),
        (10, 99),
    ),
    Category.MOTOR: Kind(
        ["구동 모터", "후륜 모터", "모터 회전자"],
        [CART, BOAT, SCHOOL],
        ("구리", ["네오디뮴"]),
        [355, 400, 650],
        (50, 240),
        (20, 90),
    ),
    Category.ELECTRONICS: Kind(
        ["배터리 관리 장치", "차량 제어기", "계기판 화면"],
        [REPAIR, SCHOOL],
        ("실리콘", ["구리", "주석"]),
        [12, 48],
        (1, 3),
        (1, 6),
    ),
    Category.INVERTER: Kind(
        ["구동 인버터", "직류 변환기"],
        [BOAT, CART, REPAIR],
        ("알루미늄", ["구리", "실리콘"]),
        [400, 650, 800],
        (3, 200),
        (3, 18),
    ),
    Category.CHARGER: Kind(
        ["완속 충전기", "급속 충전구"], [PARKING, REPAIR], ("알루미늄", ["구리"]), [220, 400, 800], (7, 200), (4, 30)
    ),
    Category.COOLING: Kind(
        ["배터리 냉각판", "히트펌프", "냉각수 펌프"],
        [GREENHOUSE, REPAIR],
        ("알루미늄", ["구리"]),
        [12, 48, 400],
        (1, 8),
        (2, 25),
    ),
}

QUERIES = [
    ("ESS용 중고 배터리", Category.BATTERY),
    ("50kW 이상 구동 모터", Category.MOTOR),
    ("저렴한 완속 충전기", Category.CHARGER),
    ("battery modules for solar storage", Category.BATTERY),
    ("히트펌프 재생품", Category.COOLING),
]

COMPANY_WORDS = "한빛 새벽 다솔 가온 누리 마루 아라 온새미 푸른 해든 미르 도담".split()
TRADES = ["에너지", "모빌리티", "해체산업", "전동공구", "자원순환", "솔라"]
